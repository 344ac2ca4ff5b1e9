package api

import (
	"net/http"
	"testing"
)

// The answers to requests for a file of 1000 bytes, by RFC 9110 sections 13 and 14.
func TestSelectPart(t *testing.T) {
	t.Parallel()
	const tag = `"abc"`
	whole := part{0, 1000}
	headers := func(pairs ...string) http.Header {
		header := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			header.Add(pairs[i], pairs[i+1])
		}
		return header
	}
	for name, row := range map[string]struct {
		header http.Header
		want   selection
		part   part
	}{
		"nothing special":              {nil, wholeFile, whole},
		"the first bytes":              {headers("Range", "bytes=0-99"), partOfFile, part{0, 100}},
		"one byte":                     {headers("Range", "bytes=0-0"), partOfFile, part{0, 1}},
		"the last byte":                {headers("Range", "bytes=999-999"), partOfFile, part{999, 1}},
		"from the middle":              {headers("Range", "bytes=500-"), partOfFile, part{500, 500}},
		"from the beginning":           {headers("Range", "bytes=0-"), partOfFile, whole},
		"the last bytes":               {headers("Range", "bytes=-100"), partOfFile, part{900, 100}},
		"more last bytes than it has":  {headers("Range", "bytes=-5000"), partOfFile, whole},
		"beyond the end":               {headers("Range", "bytes=990-5000"), partOfFile, part{990, 10}},
		"to 2^64":                      {headers("Range", "bytes=990-18446744073709551616"), partOfFile, part{990, 10}},
		"the last 2^64":                {headers("Range", "bytes=-18446744073709551616"), partOfFile, whole},
		"in capitals":                  {headers("Range", "BYTES=0-9"), partOfFile, part{0, 10}},
		"with blanks around":           {headers("Range", "bytes= 0-9 "), partOfFile, part{0, 10}},
		"leading zeros":                {headers("Range", "bytes=000-009"), partOfFile, part{0, 10}},
		"after the end":                {headers("Range", "bytes=1000-"), notSatisfiable, whole},
		"far after the end":            {headers("Range", "bytes=18446744073709551616-"), notSatisfiable, whole},
		"the last no bytes":            {headers("Range", "bytes=-0"), notSatisfiable, whole},
		"backwards":                    {headers("Range", "bytes=9-0"), wholeFile, whole},
		"no numbers":                   {headers("Range", "bytes=-"), wholeFile, whole},
		"nothing":                      {headers("Range", "bytes="), wholeFile, whole},
		"letters":                      {headers("Range", "bytes=a-b"), wholeFile, whole},
		"a sign":                       {headers("Range", "bytes=+1-2"), wholeFile, whole},
		"a blank inside":               {headers("Range", "bytes=1 -2"), wholeFile, whole},
		"three numbers":                {headers("Range", "bytes=1-2-3"), wholeFile, whole},
		"another unit":                 {headers("Range", "seconds=0-9"), wholeFile, whole},
		"no unit":                      {headers("Range", "0-9"), wholeFile, whole},
		"two ranges":                   {headers("Range", "bytes=0-9,20-29"), wholeFile, whole},
		"a thousand ranges":            {headers("Range", "bytes=0-"+repeated(",0-", 1000)), wholeFile, whole},
		"two headers":                  {headers("Range", "bytes=0-9", "Range", "bytes=0-9"), wholeFile, whole},
		"If-Range of the file":         {headers("Range", "bytes=0-9", "If-Range", tag), partOfFile, part{0, 10}},
		"If-Range of another":          {headers("Range", "bytes=0-9", "If-Range", `"abd"`), wholeFile, whole},
		"If-Range, weak":               {headers("Range", "bytes=0-9", "If-Range", "W/"+tag), wholeFile, whole},
		"If-Range, a date":             {headers("Range", "bytes=0-9", "If-Range", "Wed, 21 Oct 2015 07:28:00 GMT"), wholeFile, whole},
		"If-Range, two":                {headers("Range", "bytes=0-9", "If-Range", tag, "If-Range", tag), wholeFile, whole},
		"If-Range, a list":             {headers("Range", "bytes=0-9", "If-Range", tag+", "+tag), wholeFile, whole},
		"If-Range without a range":     {headers("If-Range", tag), wholeFile, whole},
		"If-Range, unsatisfiable":      {headers("Range", "bytes=1000-", "If-Range", `"abd"`), wholeFile, whole},
		"If-None-Match of the file":    {headers("If-None-Match", tag), notModified, whole},
		"If-None-Match, weak":          {headers("If-None-Match", "W/"+tag), notModified, whole},
		"If-None-Match, a list":        {headers("If-None-Match", `"x", W/"y" ,`+tag), notModified, whole},
		"If-None-Match, two headers":   {headers("If-None-Match", `"x"`, "If-None-Match", tag), notModified, whole},
		"If-None-Match, all":           {headers("If-None-Match", "*"), notModified, whole},
		"If-None-Match of another":     {headers("If-None-Match", `"abd"`), wholeFile, whole},
		"If-None-Match without quotes": {headers("If-None-Match", "abc"), wholeFile, whole},
		"If-None-Match and a range":    {headers("If-None-Match", tag, "Range", "bytes=0-9"), notModified, whole},
		"If-None-Match, other, range":  {headers("If-None-Match", `"abd"`, "Range", "bytes=0-9"), partOfFile, part{0, 10}},
		"If-Match of the file":         {headers("If-Match", tag), wholeFile, whole},
		"If-Match of another":          {headers("If-Match", `"abd"`), notMatched, whole},
		"If-Match, weak":               {headers("If-Match", "W/"+tag), notMatched, whole},
		"If-Match, all":                {headers("If-Match", "*"), wholeFile, whole},
		"If-Match before the rest":     {headers("If-Match", `"abd"`, "If-None-Match", tag), notMatched, whole},
		"dates":                        {headers("If-Modified-Since", "Wed, 21 Oct 2099 07:28:00 GMT", "If-Unmodified-Since", "Wed, 21 Oct 2015 07:28:00 GMT"), wholeFile, whole},
	} {
		if got, asked := selectPart(http.MethodGet, row.header, tag, 1000); got != row.want || asked != row.part {
			t.Errorf("%s: %d %v, want %d %v", name, got, asked, row.want, row.part)
		}
	}
	if got, _ := selectPart(http.MethodHead, headers("Range", "bytes=0-9"), tag, 1000); got != wholeFile {
		t.Error("a range of a HEAD counts")
	}
	if got, _ := selectPart(http.MethodGet, headers("Range", "bytes=-1"), tag, 0); got != notSatisfiable {
		t.Error("the last byte of an empty file is there")
	}
}

func FuzzParseRange(f *testing.F) {
	for _, text := range []string{"bytes=0-9", "bytes=-5", "bytes=5-", "bytes=9-0", "bytes=1-2,3-4", "bytes=99999999999999999999-"} {
		f.Add(text, int64(1000))
	}
	f.Fuzz(func(t *testing.T, text string, size int64) {
		if size < 0 {
			return
		}
		chosen, asked := parseRange(text, size)
		inside := asked.offset >= 0 && asked.length >= 0 && asked.offset+asked.length <= size
		if !inside || chosen == partOfFile && asked.length == 0 || chosen == wholeFile && asked != (part{0, size}) {
			t.Errorf("%q of %d bytes: %d %v", text, size, chosen, asked)
		}
	})
}

func repeated(text string, count int) string {
	var all []byte
	for range count {
		all = append(all, text...)
	}
	return string(all)
}
