import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluate } from "../src/ui/controls/expression";

const close = (text: string, unit: string, wanted: number): void => {
  const { value, error } = evaluate(text, unit);
  assert.equal(error, undefined, `${text}: ${error}`);
  assert.ok(Math.abs(value! - wanted) <= 1e-12 * Math.max(1, Math.abs(wanted)), `${text} gave ${value}`);
};

test("sums, products, brackets and signs follow the usual order", () => {
  close("2.4*3", "", 7.2);
  close("1+2*3-4/8", "", 6.5);
  close("-(1 + 2) * -.5", "", 1.5);
  close("8/4/2", "", 1);
  close("10 - 4 - 3", "", 3);
  close("--2", "", 2);
  close("1.5e-4*2", "", 3e-4);
});

test("formatted numbers are parsed again", () => {
  close("16\u2009904", "", 16904);
  close("\u22120.42", "m", -0.42);
  close("3 \u00d7 2", "", 6);
});

test("units are converted to the unit of the field, which plain numbers have", () => {
  close("42 cm", "m", 0.42);
  close("5mm + 1", "m", 1.005);
  close("(2 + 3)cm * 2", "m", 0.1);
});

test("a ratio of two lengths is a plain number", () => {
  close("1 m / 4 cm", "m", 25);
  close("3 cm * (1 m / 50 cm)", "m", 0.06);
});

test("angles, times, forces and percentages have units", () => {
  close("180 deg", "rad", Math.PI);
  close("90°", "deg", 90);
  close("250ms", "s", 0.25);
  close("1.5kN", "N", 1500);
  close("12 %", "%", 12);
});

test("errors are explained in one line", () => {
  const says = (text: string, unit: string, pattern: RegExp): void =>
    assert.match(evaluate(text, unit).error ?? "", pattern);
  says("", "m", /Type a number/);
  says("2*", "m", /missing at the end/);
  says("1,5", "m", /with a point/);
  says("(1", "m", /not closed/);
  says("1)", "m", /“\)”/);
  says("2 furlongs", "m", /not a known unit/);
  says("2 s", "m", /Enter a length, not a time/);
  says("2 cm", "", /without the unit cm/);
  says("2cm*3cm", "m", /one side/);
  says("1/2cm", "m", /cannot be divided/);
  says("1/0", "m", /zero/);
  says("1e999", "m", /finite/);
  says("alert(1)", "m", /“a”/);
  says("2 constructor", "m", /not a known unit/);
  says("(".repeat(5000) + "1", "m", /Too many nested parentheses/);
});
