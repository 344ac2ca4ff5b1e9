// Package mission holds the rules of a mission as pure code: what a creator may write and how it is
// normalized ([Normalize]), when two missions are equal ([Normalized.Fingerprint], [Differences]),
// what a mission costs ([Normalized.Terms]), when it takes submissions ([Normalized.Window]), how
// its ids are formed, and how events change its state ([Apply]). For submissions it defines what a
// contributor may declare ([NormalizeDeclaration]) and how events change the status
// ([NextSubmission]).
//
// The package has no I/O, no clock, no randomness and no context: time and entropy are arguments,
// so every result can be reproduced from its inputs.
//
// # JSON
//
// The body is one JSON object in strict RFC 8259 UTF-8, at most 64 KiB and 8 levels deep, counting
// the object itself. A body that two parsers could read differently is refused: duplicate names
// (also when one is written with escapes), lone surrogates, a byte order mark, trailing data. In
// every object, at any depth, two names that differ only in case are refused, and so is a name that
// is a case variant of a known one (Reward, or a long s in place of an s). All of these are
// invalid_json; no fault of a field is reported until the JSON is valid.
//
// The errors that follow, in this order: creator_mismatch; unsupported_reward_token if reward.token
// is not exactly one of the tokens (also if it is missing, null or of another type);
// validation_failed. The last two list all faults in details.fields, in the order of the fields and
// not of the input; the list stops at 50.
//
// For a known optional member, null means omitted. An empty string does not.
//
// # Text
//
// Lengths count Unicode code points after normalization. Title, label and rules are one line: every
// run of white space, line breaks included, becomes one space. The description keeps its lines and
// tabs. All four are NFC. Metadata and externalReference belong to the creator's own systems and
// are kept unchanged.
//
// Characters that could make a reviewer, a log or a model read another text than the one sent are
// refused, not removed: control characters, bidirectional embeddings, overrides and isolates,
// deprecated format characters, the byte order mark inside text, tag characters, interlinear
// annotation, noncharacters, and more than 16 combining marks in a row. Joiners and the
// left-to-right and right-to-left marks are ordinary text in several scripts and are allowed. A
// title or a rule needs at least one letter, digit, punctuation mark or symbol.
//
// # Numbers
//
// Numbers are read as text in exact decimal arithmetic, and no power of ten is built from an
// exponent: 10, 10.0 and 1e1 are equal, and 1e999999999 costs as little as 1. Amounts may also be
// strings that hold a JSON number. An amount is never rounded. The numbers of a location (also
// radius and accuracy, which need not be whole) are rounded to 6 decimals, about 0.1 m, half away
// from zero, after the bounds were checked against the exact value; -0 is 0. Counts and durations
// must be whole.
//
// # Times
//
// Times are RFC 3339 with a zone. Leap seconds and hour 24 are refused. Digits below a millisecond
// are cut off. The year is 1970 or later. That the end is after the start is part of the schema;
// [Normalized.CheckTimes] checks what depends on the current time, because a replay must return its
// draft at any time. A startsAt without endsAt must be less than 30 days away: the mission would
// otherwise end before it starts.
//
// # Lists and pairs
//
// At most 10 tags, counted without duplicates; only ASCII letters are lower-cased. Rules keep their
// order and duplicates. Metadata keys have 1 to 40 characters, values 0 to 500.
//
// # Unknown members
//
// Unknown members are kept in extra unchanged, without the white space between tokens; an unknown
// member of reward, verification, location or video is kept under that object's name. Extra may
// have 8 KiB, encoded. The service checks only two things in it, and refuses both: names that
// differ only in case, and numbers that do not fit a 64-bit float (1e308). The fingerprint compares
// extra by value: the order of names, the escapes in strings and the spelling of numbers do not
// matter. An input member called extra is unknown like any other, unless it is empty: then it is
// omitted, so that a normalized mission normalizes to itself.
//
// # States
//
// A draft's state has three coordinates: how deep its funding is in the chain, the operator's
// decision, and whether the money was refunded. The statuses of the API follow from them
// ([State.View]). A reorganization changes only the first: a decision stays, because drafts never
// change. An approved mission whose funding is reverted is therefore shown as unfunded, and is
// approved again, without another review, when the funding is on chain again.
//
// A funding counts only if every field equals the draft's ([Escrow]). The money of a rejected
// mission is due to the creator from the moment its funding is confirmed until a close of the
// mission is on chain ([State.RefundDue]).
//
// # Submissions
//
// A declaration is read as strictly as a mission, but has no extra: an unknown member is a fault. A
// pending or flagged submission holds a reservation, an accepted one a slot ([HoldsSlot]); a
// decision can be revoked until it is final, and never after.
package mission
