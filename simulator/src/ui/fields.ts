import { number } from '../model/format.js';
import { el, freshId } from './dom.js';

/** A control with its label, and what keeps it in step with the state. */
export interface Field<T> {
  readonly element: HTMLElement;
  /** Shows a value, unless the reader is at work in this very control. */
  show(value: T): void;
  setHidden(hidden: boolean): void;
}

interface Common<T> {
  readonly label: string;
  readonly changed: (value: T) => void;
}

function wrap(label: string, control: HTMLElement, extra: HTMLElement[] = []): HTMLElement {
  const id = freshId();
  control.id = id;
  return el('div', { class: 'field' }, el('label', { for: id }, label), control, ...extra);
}

/** One of several. */
export function choice<T extends string>({
  label,
  options,
  changed,
}: Common<T> & { readonly options: readonly (readonly [T, string])[] }): Field<T> {
  const control = el('select', {}, ...options.map(([value, text]) => el('option', { value }, text)));
  control.addEventListener('change', () => changed(control.value as T));
  const element = wrap(label, control);
  return {
    element,
    show: (value) => {
      control.value = value;
    },
    setHidden: (hide) => {
      element.hidden = hide;
    },
  };
}

/** What a control of numbers accepts. */
export interface Range {
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** What stands behind it: `ms`, `%`. */
  readonly unit?: string;
  /** Whether it may be left empty, which is `undefined`. */
  readonly optional?: string;
}

/** A number. What cannot be used is said beneath, and changes nothing. */
export function amount({ label, changed, ...range }: Common<number | undefined> & Range): Field<number | undefined> {
  const problem = el('p', { class: 'field-problem', id: freshId(), hidden: true });
  const control = el('input', {
    type: 'number',
    inputmode: 'decimal',
    min: range.min,
    max: range.max,
    step: range.step,
    placeholder: range.optional,
    'aria-describedby': problem.id,
  });
  const look = () => {
    const trouble = troubleOf(control, range);
    problem.textContent = trouble ?? '';
    problem.hidden = trouble === undefined;
    control.setAttribute('aria-invalid', String(trouble !== undefined));
    return trouble;
  };
  control.addEventListener('input', () => {
    if (look() === undefined) changed(control.value === '' ? undefined : Number(control.value));
  });
  const unit = range.unit === undefined ? [] : [el('span', { class: 'unit', 'aria-hidden': true }, range.unit)];
  const element = wrap(range.unit === undefined ? label : `${label} (${range.unit})`, control, [...unit, problem]);
  if (range.unit !== undefined) element.classList.add('has-unit');
  return {
    element,
    show: (value) => {
      if (document.activeElement === control) return;
      control.value = value === undefined ? '' : String(value);
      look();
    },
    setHidden: (hide) => {
      element.hidden = hide;
    },
  };
}

function troubleOf(control: HTMLInputElement, { min, max, step, optional }: Range): string | undefined {
  if (control.validity.badInput) return 'This is not a number.';
  if (control.value === '') return optional === undefined ? 'A number is needed here.' : undefined;
  const value = Number(control.value);
  if (value < min || value > max) return `From ${number(min)} to ${number(max)}.`;
  if (step >= 1 && !Number.isInteger(value)) return 'A whole number.';
  return undefined;
}

/** A line of text. */
export function line({
  label,
  changed,
  placeholder,
}: Common<string> & { readonly placeholder?: string }): Field<string> {
  const control = el('input', { type: 'text', placeholder, maxlength: 80 });
  control.addEventListener('input', () => changed(control.value));
  const element = wrap(label, control);
  return {
    element,
    show: (value) => {
      if (document.activeElement !== control) control.value = value;
    },
    setHidden: (hide) => {
      element.hidden = hide;
    },
  };
}

/** Yes or no. */
export function tick({ label, changed }: Common<boolean>): Field<boolean> {
  const control = el('input', { type: 'checkbox', id: freshId() });
  control.addEventListener('change', () => changed(control.checked));
  const element = el('div', { class: 'field field-tick' }, control, el('label', { for: control.id }, label));
  return {
    element,
    show: (value) => {
      control.checked = value;
    },
    setHidden: (hide) => {
      element.hidden = hide;
    },
  };
}
