// MathML that the server made, copied element by element so that nothing but mathematics reaches the page.

const SPACE = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(["math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover",
  "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom", "mmultiscripts", "mprescripts"]);
const ATTRIBUTES = new Set(["display", "displaystyle", "mathvariant", "stretchy", "fence", "separator", "form", "lspace", "rspace", "minsize", "maxsize", "accent",
  "accentunder", "linethickness", "width", "height", "depth", "columnalign", "columnspacing", "rowspacing", "scriptlevel", "movablelimits", "largeop", "symmetric"]);

// The element <math>, or null if the text isn't well-formed or holds anything else.
export function mathematics(markup) {
  const parsed = new DOMParser().parseFromString(markup, "application/xml");
  if (parsed.querySelector("parsererror")) return null;
  return copy(parsed.documentElement, true);
}

function copy(source, outermost = false) {
  if (!ELEMENTS.has(source.localName) || (outermost && source.localName !== "math")) return null;
  const node = document.createElementNS(SPACE, source.localName);
  for (const { name, value } of source.attributes) if (ATTRIBUTES.has(name)) node.setAttribute(name, value);
  for (const child of source.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) node.append(child.data);
    else if (child.nodeType === Node.ELEMENT_NODE) {
      const inner = copy(child);
      if (inner === null) return null;
      node.append(inner);
    }
  }
  return node;
}
