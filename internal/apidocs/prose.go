package apidocs

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// The descriptions in an OpenAPI document are CommonMark. Ours use little of it: paragraphs, lists
// of one level, tables, fenced code, headings, `code`, *stress*, **strong stress** and links. This
// file turns that into HTML and nothing else; whatever it does not know stays the text it is.

// sectionView is the prose under one heading.
type sectionView struct {
	ID    string
	Title string
	Prose template.HTML
}

// sections cuts prose at its headings of the second level. What is before the first has no title.
func sections(prose string) (lead template.HTML, headed []sectionView) {
	var blocks []string
	title := ""
	flush := func() {
		body := renderProse(strings.Join(blocks, "\n"))
		if title == "" {
			lead = body
		} else {
			headed = append(headed, sectionView{ID: anchor(title), Title: title, Prose: body})
		}
		blocks = nil
	}
	inCode := false
	for _, line := range strings.Split(prose, "\n") {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if heading, found := strings.CutPrefix(line, "## "); found && !inCode {
			flush()
			title = heading
			continue
		}
		blocks = append(blocks, line)
	}
	flush()
	return lead, headed
}

// anchor is the name of a heading in a link: "Fund a mission" is #fund-a-mission.
func anchor(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}

// renderProse renders blocks.
func renderProse(prose string) template.HTML {
	var out strings.Builder
	lines := strings.Split(strings.TrimSpace(prose), "\n")
	for len(lines) > 0 {
		switch first := lines[0]; {
		case strings.TrimSpace(first) == "":
			lines = lines[1:]
		case strings.HasPrefix(first, "```"):
			var code []string
			code, lines = cutUntil(lines[1:], func(line string) bool { return strings.HasPrefix(line, "```") })
			if len(lines) > 0 {
				lines = lines[1:]
			}
			out.WriteString("<pre><code>" + html.EscapeString(strings.Join(code, "\n")) + "</code></pre>\n")
		case strings.HasPrefix(first, "|"):
			var rows []string
			rows, lines = cutUntil(lines, func(line string) bool { return !strings.HasPrefix(line, "|") })
			writeTable(&out, rows)
		case strings.HasPrefix(first, "- "):
			var items []string
			items, lines = cutUntil(lines, func(line string) bool { return !strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "  ") })
			writeList(&out, items)
		default:
			var text []string
			text, lines = cutUntil(lines, isBlockStart)
			out.WriteString("<p>" + inline(strings.Join(text, "\n")) + "</p>\n")
		}
	}
	return template.HTML(out.String()) // every text in it went through html.EscapeString
}

// cutUntil splits lines before the first one that ends the block.
func cutUntil(lines []string, ends func(string) bool) (block, rest []string) {
	for i, line := range lines {
		if ends(line) {
			return lines[:i], lines[i:]
		}
	}
	return lines, nil
}

func isBlockStart(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "- ")
}

func writeTable(out *strings.Builder, rows []string) {
	out.WriteString(`<div class="scroll"><table>`)
	for i, row := range rows {
		if i == 1 {
			continue // the dashes
		}
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		out.WriteString("<tr>")
		for _, cell := range strings.Split(strings.Trim(row, "| "), "|") {
			out.WriteString("<" + tag + ">" + inline(strings.TrimSpace(cell)) + "</" + tag + ">")
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</table></div>\n")
}

func writeList(out *strings.Builder, lines []string) {
	out.WriteString("<ul>\n")
	for len(lines) > 0 {
		rest := lines[1:]
		text := strings.TrimPrefix(lines[0], "- ")
		for len(rest) > 0 && !strings.HasPrefix(rest[0], "- ") {
			text += "\n" + strings.TrimSpace(rest[0])
			rest = rest[1:]
		}
		out.WriteString("<li>" + inline(text) + "</li>\n")
		lines = rest
	}
	out.WriteString("</ul>\n")
}

var inlineMarks = regexp.MustCompile("`([^`]+)`" + `|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(((?:#|/|https://)[^)\s]*)\)`)

// inline renders the marks inside of a line of text.
func inline(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range inlineMarks.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(html.EscapeString(text[at:m[0]]))
		at = m[1]
		group := func(n int) string { return html.EscapeString(text[m[2*n]:m[2*n+1]]) }
		switch {
		case m[2] >= 0:
			out.WriteString("<code>" + group(1) + "</code>")
		case m[4] >= 0:
			out.WriteString("<strong>" + group(2) + "</strong>")
		case m[6] >= 0:
			out.WriteString("<em>" + group(3) + "</em>")
		default:
			out.WriteString(`<a href="` + group(5) + `">` + group(4) + "</a>")
		}
	}
	out.WriteString(html.EscapeString(text[at:]))
	return out.String()
}
