package taskargs

import (
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
)

// RejectKeyValue returns an error with advice for arguments in Ansible's form `debug:
// msg=hello` or `command: touch /a creates=/a`: the second would run with one word too
// many. In a text for a kind with a short form only its last word counts, as programs have
// arguments of that form, too; the long form accepts any text.
func RejectKeyValue(d *lang.Document, args *yaml.Node, t reflect.Type) error {
	if args.Kind != yaml.ScalarNode || args.ShortTag() != "!!str" {
		return nil
	}
	words := strings.Fields(args.Value)
	if len(words) == 0 {
		return nil
	}
	if isMapping(fieldType(deref(t), shortField(t))) && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(w, "=") }) {
		return d.At(args).Errorf("arguments are written as YAML here: {%s}", asYAML(words))
	}
	last := words[len(words)-1]
	if shortField(t) == "" {
		last = words[0]
	}
	name, value, ok := strings.Cut(last, "=")
	if !ok || deref(t).Kind() != reflect.Struct || fieldType(deref(t), name) == nil {
		return nil
	}
	short := shortField(t)
	if short == "" {
		return d.At(args).Errorf("arguments are written as YAML here: {%s}", asYAML(words))
	}
	text, _ := strings.CutSuffix(strings.TrimSpace(args.Value), last)
	return d.At(args).Errorf("%q at the end would be part of the text; to pass it as an argument, write {%s: %s, %s: %s}", last,
		short, shorten(strings.TrimSpace(text)), name, value)
}

// asYAML turns a=b c=d e into a: b, c: d e.
func asYAML(words []string) string {
	var out []string
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			out = append(out, name+": "+value)
		} else if len(out) > 0 {
			out[len(out)-1] += " " + word
		}
	}
	return strings.Join(out, ", ")
}
