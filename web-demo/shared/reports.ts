import { type ReportReason } from "./api/generated";

/** The reasons of reports, in words. */
export const REASONS: Record<ReportReason, string> = {
  SPAM: "Spam",
  HARASSMENT: "Harassment",
  HATE: "Hate",
  VIOLENCE: "Violence",
  SEXUAL: "Sexual content",
  SELF_HARM: "Self-harm",
  FALSE_INFORMATION: "False information",
  OTHER: "Something else",
};
