// Elements, made in one call.

// Text and attributes are never read as HTML. An attribute `on` is { event: listener }.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) {
        element.addEventListener(event, listener);
      }
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat());
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

// The value of a colour of page.css, light or dark.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// A canvas as large as its box and as sharp as the screen; drawn in the units of the page.
export function fitted(canvas) {
  const box = canvas.getBoundingClientRect(), sharpness = window.devicePixelRatio || 1;
  const width = Math.round(box.width * sharpness), height = Math.round(box.height * sharpness);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext("2d");
  context.setTransform(sharpness, 0, 0, sharpness, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  return { context, width: box.width, height: box.height };
}
