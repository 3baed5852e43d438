/** Parser of number fields: sums, products, parentheses and units, without eval. */

type UnitKind = "length" | "angle" | "time" | "force" | "share" | "frames";
interface Unit { kind: UnitKind; factor: number }

const UNITS: Record<string, Unit> = {
  m: { kind: "length", factor: 1 }, cm: { kind: "length", factor: 1e-2 }, mm: { kind: "length", factor: 1e-3 },
  deg: { kind: "angle", factor: Math.PI / 180 }, "°": { kind: "angle", factor: Math.PI / 180 },
  rad: { kind: "angle", factor: 1 }, s: { kind: "time", factor: 1 }, ms: { kind: "time", factor: 1e-3 },
  N: { kind: "force", factor: 1 }, mN: { kind: "force", factor: 1e-3 }, kN: { kind: "force", factor: 1e3 },
  "%": { kind: "share", factor: 1e-2 }, f: { kind: "frames", factor: 1 },
};

/** Intermediate value: unitless, or in SI units. */
interface Amount { value: number; unitless: boolean }

type ParseResult = { value: number; error?: undefined } | { value?: undefined; error: string };

/** Limit of nested parentheses. */
const MAX_DEPTH = 64;
const NUMBER = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/;
const WORD = /^(?:[a-zA-Z]+|°|%)/;

class ParseError extends Error {}

/** Evaluate a text in the unit of the field; numbers without a unit are in that unit. */
export function evaluate(text: string, unit = ""): ParseResult {
  try {
    return { value: new Parser(normalizeText(text), unit).parse() };
  } catch (error) {
    if (error instanceof ParseError) return { error: error.message };
    throw error;
  }
}

/** Replace typographic minus signs, products and spaces by ASCII. */
function normalizeText(text: string): string {
  return text
    .replace(/[\u2009\u202f\u00a0]/g, "")
    .replace(/[\u2212\u2013]/g, "-")
    .replace(/[\u00d7\u00b7]/g, "*")
    .replace(/\u00f7/g, "/")
    .trim();
}

class Parser {
  private at = 0;
  private depth = 0;
  private readonly fieldUnit: Unit | undefined;

  constructor(private readonly text: string, unit: string) {
    this.fieldUnit = UNITS[unit];
  }

  parse(): number {
    if (this.text === "") throw new ParseError("Type a number.");
    const { value, unitless } = this.parseSum();
    if (this.at < this.text.length) throw this.createError();
    const result = unitless ? value : value / (this.fieldUnit?.factor ?? 1);
    if (!Number.isFinite(result)) throw new ParseError("The value is not finite.");
    return result;
  }

  private parseSum(): Amount {
    let left = this.parseProduct();
    for (let sign = this.accept("+-"); sign; sign = this.accept("+-")) {
      const right = this.parseProduct();
      const factor = sign === "+" ? 1 : -1;
      if (left.unitless && right.unitless) left = { value: left.value + factor * right.value, unitless: true };
      else left = { value: this.toSi(left) + factor * this.toSi(right), unitless: false };
    }
    return left;
  }

  private parseProduct(): Amount {
    let left = this.parseFactor();
    for (let sign = this.accept("*/"); sign; sign = this.accept("*/")) {
      const right = this.parseFactor();
      left = sign === "*" ? multiply(left, right) : divide(left, right);
    }
    return left;
  }

  private parseFactor(): Amount {
    if (++this.depth > MAX_DEPTH) throw new ParseError("Too many nested parentheses or signs.");
    const sign = this.accept("+-");
    let found: Amount;
    if (sign) {
      const inner = this.parseFactor();
      found = sign === "-" ? { ...inner, value: -inner.value } : inner;
    } else found = this.parseUnit(this.accept("(") ? this.parseParentheses() : this.parseNumber());
    this.depth--;
    return found;
  }

  private parseParentheses(): Amount {
    const inner = this.parseSum();
    if (!this.accept(")")) throw new ParseError("A parenthesis is not closed.");
    return inner;
  }

  private parseNumber(): Amount {
    const digits = this.match(NUMBER);
    if (digits === null) throw this.createError();
    return { value: Number(digits), unitless: true };
  }

  private parseUnit(amount: Amount): Amount {
    const word = this.match(WORD);
    if (word === null) return amount;
    const unit = Object.hasOwn(UNITS, word) ? UNITS[word] : undefined;
    if (unit === undefined) throw new ParseError(`“${word}” is not a known unit.`);
    if (this.fieldUnit === undefined) throw new ParseError(`Enter a number without the unit ${word}.`);
    if (unit.kind !== this.fieldUnit.kind)
      throw new ParseError(`Enter ${describeKind(this.fieldUnit.kind)}, not ${describeKind(unit.kind)}.`);
    if (!amount.unitless) throw new ParseError("The value has two units.");
    return { value: amount.value * unit.factor, unitless: false };
  }

  private toSi({ value, unitless }: Amount): number {
    return unitless ? value * (this.fieldUnit?.factor ?? 1) : value;
  }

  private accept(signs: string): string {
    this.skipSpaces();
    const next = this.text[this.at] ?? "";
    if (next === "" || !signs.includes(next)) return "";
    this.at++;
    return next;
  }

  private match(pattern: RegExp): string | null {
    this.skipSpaces();
    const found = pattern.exec(this.text.slice(this.at));
    if (found === null) return null;
    this.at += found[0].length;
    return found[0];
  }

  private skipSpaces(): void {
    while (this.text[this.at] === " ") this.at++;
  }

  private createError(): ParseError {
    this.skipSpaces();
    const next = this.text[this.at];
    if (next === undefined) return new ParseError("A number is missing at the end.");
    if (next === ",") return new ParseError("Write decimals with a point: 1.5.");
    return new ParseError(`Unexpected “${next}”.`);
  }
}

function multiply(left: Amount, right: Amount): Amount {
  if (!left.unitless && !right.unitless) throw new ParseError("Only one side of a product may have a unit.");
  return { value: left.value * right.value, unitless: left.unitless && right.unitless };
}

function divide(left: Amount, right: Amount): Amount {
  if (right.value === 0) throw new ParseError("Division by zero.");
  if (left.unitless && !right.unitless) throw new ParseError("A number without a unit cannot be divided by one with a unit.");
  return { value: left.value / right.value, unitless: left.unitless === right.unitless };
}

function describeKind(kind: UnitKind): string {
  return {
    length: "a length", angle: "an angle", time: "a time", force: "a force", share: "a percentage",
    frames: "a frame",
  }[kind];
}


