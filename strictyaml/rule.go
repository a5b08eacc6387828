package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/argrule"
)

// rule checks the decoded texts of a value by a rule of package argrule. Texts that are
// templates were not decoded, and count as empty.
func (d *decoder) rule(name string, n *yaml.Node, v reflect.Value, at path) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.rule(name, n, v.Elem(), at)
		}
	case reflect.String:
		if err := argrule.Check(name, v.String()); err != nil {
			d.fail(n, "%s%s", at.prefix(), ruleMessage(err, got(n)))
		}
	case reflect.Slice:
		if d.templated && v.Len() == 0 && n.Kind == yaml.SequenceNode { // a list that decodes itself, with a template in it
			for _, item := range n.Content {
				d.constant(name, item, at)
			}
		}
		for i := range v.Len() {
			item := n
			if n.Kind == yaml.SequenceNode && len(n.Content) == v.Len() {
				item = n.Content[i]
			}
			d.rule(name, item, v.Index(i), at)
		}
	case reflect.Map:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if value := v.MapIndex(reflect.ValueOf(key).Convert(v.Type().Key())); value.IsValid() {
				d.rule(name, n.Content[i+1], value, at.key(key))
			}
		}
	}
}

// constant checks a text that is not a template and was not decoded.
func (d *decoder) constant(name string, n *yaml.Node, at path) {
	if n.Kind == yaml.ScalarNode && !isTemplate(n) {
		d.rule(name, n, reflect.ValueOf(n.Value), at)
	}
}

// ruleMessage returns what the rule wants, the value that was written, and the reason.
func ruleMessage(err error, written string) string {
	fault, ok := errors.AsType[*argrule.Fault](err)
	if !ok {
		return err.Error()
	}
	out := fmt.Sprintf("want %s, got %s", fault.Want, written)
	if fault.Reason != nil {
		out += ": " + fault.Reason.Error()
	}
	return out
}

// ruleOfKeys checks the keys of a mapping by a rule of package argrule.
func (d *decoder) ruleOfKeys(name string, n *yaml.Node, at path) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		err := argrule.Check(name, key.Value)
		if err == nil && key.Value == "" {
			err = &argrule.Fault{Want: argrule.Want(name)}
		}
		if err != nil {
			d.fail(key, "%s%s", at.prefix(), ruleMessage(err, "the key "+got(key)))
		}
	}
}

// limits are the lowest and the highest value of a number, or of a duration in nanoseconds;
// nil for no limit.
type limits struct {
	text      string
	low, high *int64
}

// readLimits reads the tag range, such as 1..65535, 0.. or 0s..; nil when there is none. A tag
// that cannot be read is a bug of the program.
func readLimits(sf reflect.StructField) *limits {
	text := sf.Tag.Get("range")
	if text == "" {
		return nil
	}
	low, high, ok := strings.Cut(text, "..")
	if !ok {
		panic(fmt.Sprintf("strictyaml: the range %q of %s has no ..", text, sf.Name))
	}
	return &limits{text: text, low: readLimit(low), high: readLimit(high)}
}

func readLimit(text string) *int64 {
	if text == "" {
		return nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return &n
	}
	t, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("strictyaml: %q is not a limit of a range", text))
	}
	return new(int64(t))
}

// within checks that decoded numbers and durations are between the limits. Values that were
// not given are not checked.
func (d *decoder) within(l *limits, n *yaml.Node, v reflect.Value, at path) {
	switch {
	case isNull(n) || d.templated && isTemplate(n):
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			d.within(l, n, v.Elem(), at)
		}
	case v.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode && len(n.Content) == v.Len():
		for i := range v.Len() {
			d.within(l, n.Content[i], v.Index(i), at)
		}
	case n.Kind == yaml.ScalarNode && v.CanInt():
		if x := v.Int(); l.low != nil && x < *l.low || l.high != nil && x > *l.high {
			d.fail(n, "%swant %s, got %s", at.prefix(), l, got(n))
		}
	case n.Kind == yaml.ScalarNode && v.CanFloat():
		if x := v.Float(); l.low != nil && !(x >= float64(*l.low)) || l.high != nil && !(x <= float64(*l.high)) {
			d.fail(n, "%swant %s, got %s", at.prefix(), l, got(n))
		}
	}
}

func (l *limits) String() string {
	switch words := l.words(); {
	case words == "":
		return "a value that is not negative"
	case strings.HasPrefix(words, "from "):
		return "a value " + words
	default:
		return words
	}
}

// words returns the limits as in "from 1 to 9" or "at least 1"; empty when a value must only
// not be negative.
func (l *limits) words() string {
	low, high, _ := strings.Cut(l.text, "..")
	switch {
	case high == "" && (low == "0" || low == "0s"):
		return ""
	case high == "":
		return "at least " + low
	case low == "":
		return "at most " + high
	}
	return "from " + low + " to " + high
}
