// Byte pairs as `course_lib.tokens.BPE` cuts them: text to ids and back.
"use strict";

// `merges` are pairs of ids: the first makes the first id behind the 256 bytes.
explore.pieces = (merges) => {
  const LETTER = "\\p{L}\\p{Nl}\\p{No}", SPACE = "\\t-\\r\\x1c-\\x1f\\x85\\p{Z}";
  const CUT = new RegExp("'(?:s|t|re|ve|m|ll|d)"
    + `| ?[${LETTER}]+| ?\\p{Nd}+| ?[^${SPACE}\\p{L}\\p{N}]+`
    + `|[${SPACE}]+(?![^${SPACE}])|[${SPACE}]+`, "gu");
  // Bytes that print have the first ids, then the others.
  const prints = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  const every = Array.from({ length: 256 }, (_, byte) => byte);
  const bytes = [...every.filter(prints), ...every.filter((byte) => !prints(byte))]
    .map((byte) => [byte]);
  const first = [];
  bytes.forEach(([byte], id) => { first[byte] = id; });
  const made = new Map();
  for (const [a, b] of merges) {
    made.set(`${a} ${b}`, bytes.length);
    bytes.push([...bytes[a], ...bytes[b]]);
  }

  // Join the pair that was learned first, wherever it stands, again and again.
  function join(ids) {
    const found = ids.slice(1).map((id, i) => made.get(`${ids[i]} ${id}`) ?? Infinity);
    const next = Math.min(...found);
    if (next === Infinity) return ids;
    const joined = [];
    for (let i = 0; i < ids.length; i += 1) {
      joined.push(found[i] === next ? next : ids[i]);
      if (found[i] === next) i += 1;
    }
    return join(joined);
  }
  return {
    size: bytes.length,
    encode: (text) => (text.match(CUT) ?? []).flatMap((piece) =>
      join(Array.from(new TextEncoder().encode(piece), (byte) => first[byte]))),
    decode: (ids) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(ids.flatMap((id) => bytes[id]))),
  };
};
