/** A made-up timetable. It is the same for every day. */

export interface Flight {
  readonly number: string;
  readonly from: string;
  readonly to: string;
  /** Local departure time. */
  readonly departs: string;
  readonly arrives: string;
  readonly minutes: number;
  readonly stops: number;
  /** Price of one seat in euros. */
  readonly price: number;
}

const TIMETABLE: readonly Flight[] = [
  flight("PY 101", "BER", "LIS", "06:10", "09:10", 240, 0, 189),
  flight("PY 117", "BER", "LIS", "09:45", "15:05", 380, 1, 96),
  flight("PY 125", "BER", "LIS", "13:30", "16:30", 240, 0, 239),
  flight("PY 149", "BER", "LIS", "20:55", "00:05", 250, 0, 121),
  flight("PY 102", "LIS", "BER", "10:05", "14:50", 225, 0, 175),
  flight("PY 150", "LIS", "BER", "18:20", "00:40", 320, 1, 88),
  flight("PY 201", "BER", "OSL", "07:20", "09:00", 100, 0, 144),
  flight("PY 233", "BER", "OSL", "17:40", "19:25", 105, 0, 99),
  flight("PY 202", "OSL", "BER", "09:50", "11:30", 100, 0, 139),
  flight("PY 305", "LIS", "OSL", "11:15", "18:55", 400, 1, 210),
  flight("PY 306", "OSL", "LIS", "12:40", "16:10", 270, 0, 260),
];

function flight(
  number: string,
  from: string,
  to: string,
  departs: string,
  arrives: string,
  minutes: number,
  stops: number,
  price: number,
): Flight {
  return { number, from, to, departs, arrives, minutes, stops, price };
}

export const AIRPORTS: readonly string[] = [...new Set(TIMETABLE.map(({ from }) => from))].sort();

export function searchFlights(from: string, to: string): Flight[] {
  return TIMETABLE.filter((flight) => flight.from === from && flight.to === to);
}

/** Describes a flight on one line. */
export function describeFlight(
  { number, departs, arrives, minutes, stops, price }: Flight,
): string {
  const how = stops === 0 ? "non-stop" : `${stops} stop${stops > 1 ? "s" : ""}`;
  const time = `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")}`;
  return `${number}, ${departs}–${arrives} (${time}, ${how}), ${price} €`;
}
