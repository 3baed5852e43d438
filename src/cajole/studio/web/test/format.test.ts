import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDate, formatBytes, formatCount, formatDigits, formatLength, formatForce, formatNumber, formatPercent, formatExponent, formatTimecode } from "../src/core/format";

test("numbers have thin spaces, a true minus, and no minus zero", () => {
  assert.equal(formatNumber(16904), "16\u2009904");
  assert.equal(formatNumber(1234567.891, 2), "1\u2009234\u2009567.89");
  assert.equal(formatNumber(-0.42, 2), "\u22120.42");
  assert.equal(formatNumber(-0.001, 2), "0.00");
  assert.equal(formatNumber(NaN), "–");
});

test("numbers keep significant digits", () => {
  assert.equal(formatDigits(0.01234), "0.0123");
  assert.equal(formatDigits(12.345), "12.3");
  assert.equal(formatDigits(0.00001), "1e\u22125");
  assert.equal(formatExponent(0.00025), "2.5e\u22124");
  assert.equal(formatExponent(0.0001), "1e\u22124");
});

test("units suit the magnitude", () => {
  assert.equal(formatPercent(0.084), "8.4 %");
  assert.equal(formatPercent(0.12), "12 %");
  assert.equal(formatPercent(0), "0 %");
  assert.equal(formatLength(0.42), "0.42 m");
  assert.equal(formatLength(0.042), "4.2 cm");
  assert.equal(formatForce(2.41), "2.4 N");
  assert.equal(formatForce(1800), "1.8 kN");
  assert.equal(formatBytes(2_340_000), "2.3 MB");
});

test("times and dates are formatted for people", () => {
  assert.equal(formatTimecode(150, 60), "00:02:30");
  assert.equal(formatCount(1, "drag"), "1 drag");
  assert.equal(formatCount(3, "drag"), "3 drags");
  const noon = new Date(2024, 10, 14, 12).getTime();
  assert.equal(formatDate(noon / 1000 - 3600, noon), "today");
  assert.equal(formatDate(noon / 1000 - 86400, noon), "yesterday");
  assert.equal(formatDate(noon / 1000 - 3 * 86400, noon), "Mon");
  assert.equal(formatDate(noon / 1000 - 40 * 86400, noon), "5 Oct");
});
