/** What an element can be given when it is made. */
export interface Attributes {
  readonly class?: string | undefined;
  /** Listeners, by event. */
  readonly on?: { readonly [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };
  readonly [attribute: string]: unknown;
}

export type Child = Node | string | undefined | false;

/** Makes an element. `true` sets an attribute without a value; `false` and `undefined` leave it out. Texts are texts, never markup. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'on') listen(element, value as NonNullable<Attributes['on']>);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

function listen(element: HTMLElement, on: NonNullable<Attributes['on']>): void {
  for (const [event, listener] of Object.entries(on)) {
    element.addEventListener(event, listener as EventListener);
  }
}

/** A button that does something. */
export function button(label: Child, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return el('button', { type: 'button', ...attributes, on: { click: act } }, label);
}

/** A text for screen readers only. */
export const hidden = (text: string): HTMLElement => el('span', { class: 'visually-hidden' }, text);

/** An element that the page has from the start. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

let last = 0;
/** An id that nothing else on the page has. */
export const freshId = (): string => `x${++last}`;
