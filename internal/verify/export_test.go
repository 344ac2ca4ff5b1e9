package verify

// PlainLine is plainLine.
var PlainLine = plainLine

// ReadAnswer reads a verifier program's answer.
func ReadAnswer(text []byte) (score int, reason string, err error) {
	given, err := readAnswer(text)
	return given.score, given.reason, err
}
