package argrule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// timeField is one of the five time fields of crontab(5): the range of its numbers, and the
// names that stand for them from the first number of the names on.
type timeField struct {
	low, high int
	names     []string
}

func cronField(f timeField, want string) rule { return rule{want, f.fault} }

// fault returns an error unless the text is a list of numbers, names, ranges and *, each of the
// latter two with a step if wanted.
func (f timeField) fault(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if err := f.partFault(part); err != nil {
			return err
		}
	}
	return nil
}

func (f timeField) partFault(part string) error {
	span, step, stepped := strings.Cut(part, "/")
	if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1) {
		return fmt.Errorf("the step of %s is not a number above 0", span)
	}
	if span == "*" {
		return nil
	}
	first, last, isRange := strings.Cut(span, "-")
	from, err := f.number(first)
	if err != nil || !isRange {
		return err
	}
	to, err := f.number(last)
	if err == nil && to < from {
		err = fmt.Errorf("the range %s ends before it begins", span)
	}
	return err
}

func (f timeField) number(word string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(word)); i >= 0 {
		return i + f.low, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < f.low || n > f.high {
		return 0, fmt.Errorf("%q is no number from %d to %d", word, f.low, f.high)
	}
	return n, nil
}
