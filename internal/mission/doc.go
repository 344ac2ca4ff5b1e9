// Package mission holds the rules of a mission as pure code: what a creator may write and what it
// is understood as ([Normalize]), when two definitions are the same one ([Normalized.Fingerprint],
// [Differences]), what it costs ([Normalized.Terms]), when it runs ([Normalized.Window]), how its
// ids are formed, and which state follows which ([Apply]). For the submissions to it: what a
// contributor may declare ([NormalizeDeclaration]) and which status follows which
// ([NextSubmission]).
//
// It refuses to do anything else. There is no I/O, no clock, no randomness and no context: time and
// entropy are arguments, so every answer can be reproduced from its inputs.
//
// # JSON
//
// The body is one JSON object in strict RFC 8259 UTF-8, at most 64 KiB and 8 levels deep, the
// object itself being the first. A body that two parsers could read differently is not read at all:
// duplicate names (also when one is spelled with escapes), lone surrogates, a byte order mark,
// trailing data. In every object, at any depth, two names that differ only in case are refused, and
// so is a name that is a case variant of one the service knows (Reward, or a long s in place of an
// s). All of it is invalid_json; nothing is reported about the mission's fields until the JSON is
// sound.
//
// Then come, in this order: creator_mismatch; unsupported_reward_token whenever reward.token is not
// exactly one of the tokens, for whatever reason (missing, null, another type); validation_failed.
// The last two list all faults, in the order of the fields and not of the input, in details.fields;
// the list stops at 50.
//
// For a known optional member, null means omitted. An empty string does not.
//
// # Text
//
// Lengths count Unicode code points after normalization. Title, label and rules are one line: every
// run of white space, line breaks included, becomes one space. The description keeps its lines and
// tabs. All four are NFC. Metadata and externalReference belong to the creator's own systems and
// are kept to the code point.
//
// What could make a reviewer, a log or a model read something other than what is there is refused,
// not removed: control characters, bidirectional embeddings, overrides and isolates, deprecated
// format characters, the byte order mark inside text, tag characters, interlinear annotation,
// noncharacters, and more than 16 combining marks in a row. Joiners and the left-to-right and
// right-to-left marks are ordinary text in several scripts and stay. A title or a rule needs at
// least one letter, digit, punctuation mark or symbol.
//
// # Numbers
//
// Numbers are read as text in exact decimal arithmetic, and no power of ten is ever built from an
// exponent: 10, 10.0 and 1e1 are equal, and 1e999999999 costs as little as 1. Amounts may also be
// strings that hold a JSON number. An amount is never rounded. The numbers of a location are
// (radius and accuracy too, which need not be whole): to 6 decimals, about 0.1 m, half away from
// zero, after the bounds were checked against the exact value; -0 is 0. Counts and durations must
// be whole.
//
// # Times
//
// RFC 3339 with a zone. Leap seconds and hour 24 are refused. What is finer than a millisecond is
// cut off. The year is 1970 or later. That the end is after the start is part of the schema; what
// depends on the present is in [Normalized.CheckTimes], because a replay must return its draft at
// any time. A startsAt without endsAt must be less than 30 days away: the mission would otherwise
// end before it starts.
//
// # Lists and pairs
//
// At most 10 tags, counted after duplicates are gone; only ASCII letters are lower-cased. Rules
// keep their order and duplicates. Metadata keys have 1 to 40 characters, values 0 to 500.
//
// # Unknown members
//
// What the service does not know is kept in extra as it came, without the white space between
// tokens; an unknown member of reward, verification, location or video is kept under that object's
// name. Extra may take 8 KiB, encoded. The service looks at nothing in it but names that differ
// only in case, and numbers beyond what JSON readers read (1e308), which it refuses. For the
// fingerprint extra counts by value: the order of names, the escapes in strings and the spelling of
// numbers are not material there either. An input member called extra is unknown like any other,
// unless it is empty: then it is omitted, so that a normalized mission normalizes to itself.
//
// # States
//
// A draft's state has three coordinates: how deep its funding is in the chain, what the operator
// decided, and whether the money went back. The statuses of the API follow from them
// ([State.View]). A reorganization changes only the first: a decision, once made, stays, because
// drafts never change. An approved mission whose funding vanishes is therefore shown as unfunded,
// and is approved again, without another review, when the funding comes back.
//
// A funding counts only when it is the one that the draft promised, to the last field ([Escrow]).
// The money of a rejected mission is due to the creator from the moment its funding is confirmed
// until a close of the mission is on the chain ([State.RefundDue]).
//
// # Submissions
//
// A declaration is read as strictly as a mission, but has no extra: an unknown member is a fault.
// While a submission is pending or flagged it holds a reservation, while it is accepted a slot
// ([HoldsSlot]); a decision can be taken back until it is final, and never after.
package mission
