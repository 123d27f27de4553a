export type ScenarioName = "A1" | "B1" | "B2" | "B4" | "B6" | "B7" | "C1" | "E2" | "E3";
