package main

import (
	"html"
	"html/template"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// fieldView is a row of a table of parameters, headers or members.
type fieldView struct {
	Name     string
	In       string // of parameters
	Type     template.HTML
	Required bool
	Mark     string // shown next to the name
	About    template.HTML
	Rules    []template.HTML
}

// markRequired marks the required fields of a request.
func markRequired(fields []fieldView) {
	for i := range fields {
		if fields[i].Required {
			fields[i].Mark = "required"
		}
	}
}

// markOptional marks the fields of a response that may be absent.
func markOptional(fields []fieldView) []fieldView {
	for i := range fields {
		if !fields[i].Required {
			fields[i].Mark = "may be absent"
		}
	}
	return fields
}

// fields lists the members of an object's schema. The members of an inline object follow it; a
// named object is linked instead.
func (d *reader) fields(schema node) []fieldView {
	var fields []fieldView
	d.appendFields(&fields, "", schema)
	return fields
}

func (d *reader) appendFields(fields *[]fieldView, prefix string, schema node) {
	required := schema.get("required").texts()
	schema.get("properties").members(func(name string, member node) {
		*fields = append(*fields, d.field(prefix+name, member, slices.Contains(required, name)))
		d.appendFields(fields, prefix+name+".", member)
	})
	if others := schema.get("additionalProperties"); !others.get("description").absent() {
		*fields = append(*fields, fieldView{Name: prefix + "(any other name)", Type: "any", About: others.get("description").prose()})
	}
}

func (d *reader) field(name string, schema node, required bool) fieldView {
	about := schema.get("description")
	kinds, rules := d.describe(schema)
	if about.absent() {
		target, _ := d.follow(schema)
		about = target.get("description")
	}
	return fieldView{
		Name: name, Required: required, About: about.prose(), Rules: rules,
		Type: template.HTML(strings.Join(kinds, " or ")), // written by describe, which escapes
	}
}

// describe returns the types of a value and the rules for it, as HTML.
func (d *reader) describe(schema node) (kinds []string, rules []template.HTML) {
	target, name := d.follow(schema)
	if name != "" && !target.get("properties").absent() {
		return []string{d.link(name)}, nil
	}
	if name != "" {
		return d.describe(target)
	}
	for _, keyword := range []string{"allOf", "oneOf", "anyOf"} {
		for _, choice := range schema.get(keyword).items() {
			moreKinds, moreRules := d.describe(choice)
			for _, kind := range moreKinds {
				if !slices.Contains(kinds, kind) {
					kinds = append(kinds, kind)
				}
			}
			rules = append(rules, moreRules...)
		}
	}
	for _, kind := range schema.get("type").texts() {
		if kind == "array" {
			elements, elementRules := d.describe(schema.get("items"))
			kind = "list of " + strings.Join(elements, " or ")
			for _, rule := range elementRules {
				rules = append(rules, "each: "+rule)
			}
		}
		kinds = append(kinds, kind)
	}
	return kinds, append(rules, bounds(schema)...)
}

// link returns a link to the table of an object, and adds the table to the page.
func (d *reader) link(name string) string {
	if !slices.Contains(d.objects, name) && !slices.Contains(d.shown, name) {
		d.objects = append(d.objects, name)
	}
	return `<a href="#object-` + html.EscapeString(name) + `">` + html.EscapeString(name) + "</a>"
}

// bounds returns the rules of a schema.
func bounds(schema node) []template.HTML {
	var rules []template.HTML
	add := func(text string) { rules = append(rules, template.HTML(text)) } // escaped below
	span := func(low, high, unit string) {
		from, to := grouped(schema.get(low).text()), grouped(schema.get(high).text())
		switch {
		case from != "" && to != "":
			add(from + " to " + to + unit)
		case from != "":
			add("at least " + from + unit)
		case to != "":
			add("at most " + to + unit)
		}
	}
	span("minimum", "maximum", "")
	span("minLength", "maxLength", " characters")
	span("minItems", "maxItems", " elements")
	span("minProperties", "maxProperties", " pairs")
	if value := schema.get("const"); !value.absent() {
		add("always " + literal(value))
	}
	if values := schema.get("enum"); !values.absent() {
		var listed []string
		for _, value := range values.items() {
			if value.Tag != "!!null" {
				listed = append(listed, literal(value))
			}
		}
		add("one of " + strings.Join(listed, ", "))
	}
	if pattern := schema.get("pattern"); !pattern.absent() {
		add("matches <code>" + html.EscapeString(pattern.Value) + "</code>")
	}
	if value := schema.get("default"); !value.absent() && value.Tag != "!!null" {
		add("default " + literal(value))
	}
	return rules
}

// grouped formats a number with a comma between thousands.
func grouped(number string) string {
	if strings.ContainsAny(number, ".-") || len(number) < 5 {
		return html.EscapeString(number)
	}
	return html.EscapeString(grouped(number[:len(number)-3]) + "," + number[len(number)-3:])
}

func literal(value node) string {
	var text strings.Builder
	if value.Kind == yaml.ScalarNode && value.Value != "" {
		text.WriteString(value.Value)
	} else {
		writeJSON(&text, value, "")
	}
	return "<code>" + html.EscapeString(text.String()) + "</code>"
}

// writeJSON writes a YAML value as JSON, with its members in their order.
func writeJSON(out *strings.Builder, value node, indent string) {
	if value.absent() {
		return
	}
	deeper := indent + "  "
	switch value.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		brackets := "{}"
		if value.Kind == yaml.SequenceNode {
			brackets = "[]"
		}
		if len(value.Content) == 0 {
			out.WriteString(brackets)
			return
		}
		out.WriteByte(brackets[0])
		for i, content := range value.Content {
			switch {
			case value.Kind == yaml.SequenceNode && i > 0, i > 0 && i%2 == 0:
				out.WriteString(",\n" + deeper)
			case i == 0:
				out.WriteString("\n" + deeper)
			default:
				out.WriteString(": ")
			}
			writeJSON(out, node{content}, deeper)
		}
		out.WriteString("\n" + indent)
		out.WriteByte(brackets[1])
	default:
		if value.Tag == "!!str" {
			quoted, _ := jsontext.AppendQuote(nil, value.Value) // fails for invalid UTF-8 only, which YAML refuses
			out.Write(quoted)
			return
		}
		out.WriteString(value.Value)
	}
}
