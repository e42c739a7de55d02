/// <reference lib="dom" />
/**
 * Fills in the offset from UTC for each date and time. The server does not know the person's
 * offset.
 */

/** Updates each offset when the person changes its date, until they enter an offset themselves. */
export function fillZones(form: ParentNode): void {
  for (const zone of form.querySelectorAll<HTMLInputElement>("input[data-zone]")) {
    const moment = zone.previousElementSibling as HTMLInputElement;
    let isOwn = false;
    const fill = () => {
      if (!isOwn) zone.value = offsetAt(moment.value);
    };
    zone.addEventListener("input", () => isOwn = true);
    moment.addEventListener("input", fill);
    fill();
  }
}

/** The offset at a local time, or now: it differs between summer and winter. */
function offsetAt(local: string): string {
  const date = new Date(local);
  const minutes = -(Number.isNaN(date.getTime()) ? new Date() : date).getTimezoneOffset();
  const two = (value: number) => String(Math.trunc(Math.abs(value))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
