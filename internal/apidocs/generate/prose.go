package main

import (
	"bytes"
	"html/template"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// markdown renders the CommonMark of descriptions, with tables. It does not parse HTML, which is
// rendered as text. goldmark removes the targets of links with dangerous schemes.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(parser.NewListParser(), 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(parser.NewParagraphParser(), 1000),
			),
			parser.WithInlineParsers(
				util.Prioritized(parser.NewCodeSpanParser(), 100),
				util.Prioritized(parser.NewLinkParser(), 200),
				util.Prioritized(parser.NewEmphasisParser(), 500),
			),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
		)),
		goldmark.WithExtensions(extension.Table),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(scrollingTable{}, 100))),
	)
})

// scrollingTable renders tables inside of an element that scrolls, for small screens.
type scrollingTable struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (scrollingTable) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(east.KindTable, func(out util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		tag := "</table></div>\n"
		if entering {
			tag = `<div class="scroll"><table>` + "\n"
		}
		_, err := out.WriteString(tag)
		return ast.WalkContinue, err
	})
}

// renderProse renders a description.
func renderProse(prose string) template.HTML {
	var out bytes.Buffer
	_ = markdown().Convert([]byte(prose), &out) // a bytes.Buffer does not fail
	return template.HTML(out.String())          // no HTML of the description is in it
}

// sectionView is the prose under one heading.
type sectionView struct {
	ID    string
	Title string
	Prose template.HTML
}

// sections splits prose at its headings of the second level. The text before the first heading is
// the lead.
func sections(prose string) (lead template.HTML, headed []sectionView) {
	var lines []string
	title := ""
	flush := func() {
		body := renderProse(strings.Join(lines, "\n"))
		if title == "" {
			lead = body
		} else {
			headed = append(headed, sectionView{ID: anchor(title), Title: title, Prose: body})
		}
		lines = nil
	}
	inCode := false
	for line := range strings.SplitSeq(prose, "\n") {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if heading, found := strings.CutPrefix(line, "## "); found && !inCode {
			flush()
			title = heading
			continue
		}
		lines = append(lines, line)
	}
	flush()
	return lead, headed
}

// anchor returns the id of a heading: "Fund a mission" has #fund-a-mission.
func anchor(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}
