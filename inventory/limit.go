package inventory

import (
	"errors"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Limit is a number of hosts, absolute or as a percentage of a group.
type Limit struct {
	Count   int     // when Percent is not set
	Percent float64 // of 100; set when IsPercent
	// IsPercent distinguishes 0% from 0.
	IsPercent bool
}

// ParseLimit parses "3" or "10%".
func ParseLimit(s string) (Limit, error) {
	problem := errors.New("want a number of hosts such as 3, or a percentage from 0% to 100%")
	if p, ok := strings.CutSuffix(s, "%"); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return Limit{}, problem
		}
		return Limit{Percent: f, IsPercent: true}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return Limit{}, problem
	}
	return Limit{Count: n}, nil
}

// Of returns how many of n hosts the limit allows. A percentage is rounded
// down: 10% of 5 hosts allows none.
func (l Limit) Of(n int) int {
	if l.IsPercent {
		return int(l.Percent * float64(n) / 100)
	}
	return min(l.Count, n)
}

// String returns the form that ParseLimit parses.
func (l Limit) String() string {
	if l.IsPercent {
		return strconv.FormatFloat(l.Percent, 'f', -1, 64) + "%"
	}
	return strconv.Itoa(l.Count)
}

// UnmarshalYAML reads a number or a percentage.
func (l *Limit) UnmarshalYAML(n *yaml.Node) (err error) {
	if n.Kind != yaml.ScalarNode {
		return errors.New("want a number of hosts, or a percentage")
	}
	*l, err = ParseLimit(n.Value)
	return err
}

// MarshalText makes limits readable in JSON.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// YAMLSchema describes the type to strictyaml.Schema.
func (Limit) YAMLSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "integer", "minimum": 0},
		map[string]any{"type": "string", "pattern": `^[0-9.]+ *%$|^[0-9]+$`},
	}}
}
