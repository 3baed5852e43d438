/** Reads what is typed into a number field: sums, products, brackets and units. Nothing is ever evaluated as script. */

type Kind = "length" | "angle" | "time" | "force" | "share" | "frames";
interface Unit {
  kind: Kind;
  factor: number;
}

const UNITS: Record<string, Unit> = {
  m: { kind: "length", factor: 1 },
  cm: { kind: "length", factor: 1e-2 },
  mm: { kind: "length", factor: 1e-3 },
  deg: { kind: "angle", factor: Math.PI / 180 },
  "°": { kind: "angle", factor: Math.PI / 180 },
  rad: { kind: "angle", factor: 1 },
  s: { kind: "time", factor: 1 },
  ms: { kind: "time", factor: 1e-3 },
  N: { kind: "force", factor: 1 },
  mN: { kind: "force", factor: 1e-3 },
  kN: { kind: "force", factor: 1e3 },
  "%": { kind: "share", factor: 1e-2 },
  f: { kind: "frames", factor: 1 },
};

/** A number under way: plain, or with a unit and then in SI. */
interface Amount {
  value: number;
  plain: boolean;
}

export type Reading = { value: number; error?: undefined } | { value?: undefined; error: string };

/** Deeper brackets are a mistake, and would exhaust the stack. */
const DEEPEST = 64;
const NUMBER = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/;
const WORD = /^(?:[a-zA-Z]+|°|%)/;

class Misread extends Error {}

/** The number that a text means, in the field's own unit; numbers without one are taken to be in it. */
export function read(text: string, unit = ""): Reading {
  try {
    return { value: new Reader(plainText(text), unit).whole() };
  } catch (error) {
    if (error instanceof Misread) return { error: error.message };
    throw error;
  }
}

/** Minus signs, products and thin spaces as the page writes them, turned into what a keyboard has. */
function plainText(text: string): string {
  return text
    .replace(/[\u2009\u202f\u00a0]/g, "")
    .replace(/[\u2212\u2013]/g, "-")
    .replace(/[\u00d7\u00b7]/g, "*")
    .replace(/\u00f7/g, "/")
    .trim();
}

class Reader {
  private at = 0;
  private depth = 0;
  private readonly own: Unit | undefined;

  constructor(
    private readonly text: string,
    unit: string,
  ) {
    this.own = UNITS[unit];
  }

  whole(): number {
    if (this.text === "") throw new Misread("Type a number.");
    const { value, plain } = this.sum();
    if (this.at < this.text.length) throw this.unexpected();
    const result = plain ? value : value / (this.own?.factor ?? 1);
    if (!Number.isFinite(result)) throw new Misread("That is not a finite number.");
    return result;
  }

  private sum(): Amount {
    let left = this.product();
    for (let sign = this.take("+-"); sign; sign = this.take("+-")) {
      const right = this.product();
      const way = sign === "+" ? 1 : -1;
      if (left.plain && right.plain) left = { value: left.value + way * right.value, plain: true };
      else left = { value: this.inSi(left) + way * this.inSi(right), plain: false };
    }
    return left;
  }

  private product(): Amount {
    let left = this.factor();
    for (let sign = this.take("*/"); sign; sign = this.take("*/")) {
      const right = this.factor();
      left = sign === "*" ? times(left, right) : over(left, right);
    }
    return left;
  }

  private factor(): Amount {
    if (++this.depth > DEEPEST) throw new Misread("That has too many brackets or signs.");
    const sign = this.take("+-");
    let found: Amount;
    if (sign) {
      const inner = this.factor();
      found = sign === "-" ? { ...inner, value: -inner.value } : inner;
    } else found = this.withUnit(this.take("(") ? this.bracket() : this.number());
    this.depth--;
    return found;
  }

  private bracket(): Amount {
    const inner = this.sum();
    if (!this.take(")")) throw new Misread("A bracket is not closed.");
    return inner;
  }

  private number(): Amount {
    const digits = this.match(NUMBER);
    if (digits === null) throw this.unexpected();
    return { value: Number(digits), plain: true };
  }

  private withUnit(amount: Amount): Amount {
    const word = this.match(WORD);
    if (word === null) return amount;
    const unit = Object.hasOwn(UNITS, word) ? UNITS[word] : undefined;
    if (unit === undefined) throw new Misread(`“${word}” is no unit that is known here.`);
    if (this.own === undefined) throw new Misread(`A plain number is wanted here, without ${word}.`);
    if (unit.kind !== this.own.kind)
      throw new Misread(`${cap(named(this.own.kind))} is wanted here, not ${named(unit.kind)}.`);
    if (!amount.plain) throw new Misread("That has two units.");
    return { value: amount.value * unit.factor, plain: false };
  }

  private inSi({ value, plain }: Amount): number {
    return plain ? value * (this.own?.factor ?? 1) : value;
  }

  private take(signs: string): string {
    this.skip();
    const next = this.text[this.at] ?? "";
    if (next === "" || !signs.includes(next)) return "";
    this.at++;
    return next;
  }

  private match(pattern: RegExp): string | null {
    this.skip();
    const found = pattern.exec(this.text.slice(this.at));
    if (found === null) return null;
    this.at += found[0].length;
    return found[0];
  }

  private skip(): void {
    while (this.text[this.at] === " ") this.at++;
  }

  private unexpected(): Misread {
    this.skip();
    const next = this.text[this.at];
    if (next === undefined) return new Misread("A number is missing at the end.");
    if (next === ",") return new Misread("Write decimals with a point: 1.5.");
    return new Misread(`“${next}” is not understood here.`);
  }
}

function times(left: Amount, right: Amount): Amount {
  if (!left.plain && !right.plain) throw new Misread("Only one side of a product may have a unit.");
  return { value: left.value * right.value, plain: left.plain && right.plain };
}

function over(left: Amount, right: Amount): Amount {
  if (right.value === 0) throw new Misread("That divides by zero.");
  if (left.plain && !right.plain) throw new Misread("A plain number cannot be divided by one with a unit.");
  return { value: left.value / right.value, plain: left.plain === right.plain };
}

function named(kind: Kind): string {
  return {
    length: "a length",
    angle: "an angle",
    time: "a time",
    force: "a force",
    share: "a share",
    frames: "a frame",
  }[kind];
}

const cap = (text: string): string => text[0]!.toUpperCase() + text.slice(1);
