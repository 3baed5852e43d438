import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, bytes, count, figures, metres, newtons, number, percent, power, timecode } from "../src/core/format";

test("numbers have thin spaces, a true minus, and no minus zero", () => {
  assert.equal(number(16904), "16\u2009904");
  assert.equal(number(1234567.891, 2), "1\u2009234\u2009567.89");
  assert.equal(number(-0.42, 2), "\u22120.42");
  assert.equal(number(-0.001, 2), "0.00");
  assert.equal(number(NaN), "–");
});

test("figures keep as many digits as matter", () => {
  assert.equal(figures(0.01234), "0.0123");
  assert.equal(figures(12.345), "12.3");
  assert.equal(figures(0.00001), "1e\u22125");
  assert.equal(power(0.00025), "2.5e\u22124");
  assert.equal(power(0.0001), "1e\u22124");
});

test("units suit the size", () => {
  assert.equal(percent(0.084), "8.4 %");
  assert.equal(percent(0.12), "12 %");
  assert.equal(percent(0), "0 %");
  assert.equal(metres(0.42), "0.42 m");
  assert.equal(metres(0.042), "4.2 cm");
  assert.equal(newtons(2.41), "2.4 N");
  assert.equal(newtons(1800), "1.8 kN");
  assert.equal(bytes(2_340_000), "2.3 MB");
});

test("time reads as people say it", () => {
  assert.equal(timecode(150, 60), "00:02:30");
  assert.equal(count(1, "drag"), "1 drag");
  assert.equal(count(3, "drag"), "3 drags");
  const noon = new Date(2024, 10, 14, 12).getTime();
  assert.equal(ago(noon / 1000 - 3600, noon), "today");
  assert.equal(ago(noon / 1000 - 86400, noon), "yesterday");
  assert.equal(ago(noon / 1000 - 3 * 86400, noon), "Mon");
  assert.equal(ago(noon / 1000 - 40 * 86400, noon), "5 Oct");
});
