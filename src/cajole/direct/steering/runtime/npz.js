// Reads uncompressed .npz files: a stored zip of .npy arrays.

const TYPES = { "<f8": Float64Array, "<f4": Float32Array, "<i8": BigInt64Array, "<i4": Int32Array };

/** The arrays of an uncompressed .npz as a Map of name -> {shape, data}; text becomes a string. */
export function parseNpz(buffer) {
  const view = new DataView(buffer), arrays = new Map();
  const wrong = (what) => new Error(`not a controller file: ${what}; write it again with controller.save`);
  let end = buffer.byteLength - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw wrong("it is no zip, or cut short");
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    if (at + 46 > end || view.getUint32(at, true) !== 0x02014b50) throw wrong("its directory is damaged");
    const [method, size] = [view.getUint16(at + 10, true), view.getUint32(at + 24, true)];
    const [nameSize, extra, comment] = [28, 30, 32].map((k) => view.getUint16(at + k, true));
    if (at + 46 + nameSize > end) throw wrong("its directory is damaged");
    const name = new TextDecoder().decode(new Uint8Array(buffer, at + 46, nameSize)).replace(/\.npy$/, "");
    if (method !== 0) throw wrong(`${name} is compressed`);
    const local = view.getUint32(at + 42, true);
    if (local + 30 > end) throw wrong(`${name} lies outside the file`);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    if (start + size > end) throw wrong(`${name} is cut short`);
    arrays.set(name, parseNpy(buffer.slice(start, start + size), (what) => wrong(`${name} ${what}`)));
    at += 46 + nameSize + extra + comment;
  }
  return arrays;
}

function parseNpy(buffer, wrong) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 12 || view.getUint32(0) !== 0x934e554d) throw wrong("is no array");
  const begin = view.getUint8(6) === 1 ? 10 : 12;
  const start = begin + (begin === 10 ? view.getUint16(8, true) : view.getUint32(8, true));
  const header = new TextDecoder().decode(buffer.slice(begin, start));
  const type = /'descr': '([^']+)'/.exec(header)?.[1], shape = /'shape': \(([^)]*)\)/.exec(header)?.[1];
  if (!type || shape === undefined) throw wrong("has no header");
  if (type.startsWith("<U")) return text(buffer.slice(start), wrong);
  if (!(type in TYPES) || /'fortran_order': True/.test(header)) throw wrong(`is of type ${type}, or not row by row`);
  const sizes = shape.split(",").filter((text) => text.trim()).map(Number);
  if (!sizes.every((size) => Number.isInteger(size) && size >= 0)) throw wrong(`has the shape (${shape})`);
  const count = sizes.reduce((a, b) => a * b, 1);
  if (start + count * TYPES[type].BYTES_PER_ELEMENT !== buffer.byteLength) throw wrong("is not as long as it says");
  return { shape: sizes, data: new TYPES[type](buffer.slice(start)) };
}

/** Text of four bytes a letter; the longest that a file holds is the name of its format. */
function text(buffer, wrong) {
  const letters = buffer.byteLength % 4 === 0 && buffer.byteLength <= 4000 ? [...new Uint32Array(buffer)] : [0x110000];
  if (letters.some((letter) => letter > 0x10ffff)) throw wrong("is no text");
  return String.fromCodePoint(...letters).replace(/\0+$/, "");
}
