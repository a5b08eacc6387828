package cis

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Evaluate compares a host with a check that has a test. It returns an error when
// the host differs from the verdict: when it fails a check that is met, or passes
// one that is not.
func (c Check) Evaluate(h Host) error {
	err := c.Test.pass(h)
	switch {
	case c.Verdict == Met && err != nil:
		return fmt.Errorf("%s %s: %w", c.ID, c.Title, err)
	case c.Verdict != Met && err == nil:
		return fmt.Errorf("%s %s: the host passes it, and checks.yaml says %q", c.ID, c.Title, c.Verdict)
	}
	return nil
}

func (t *Test) pass(h Host) error {
	switch {
	case t.Refused != "":
		return t.refused(h)
	case t.Flag != "":
		return t.flag(h)
	case t.Key != "":
		return t.key(h)
	case t.Line != "":
		if !slices.Contains(strings.Split(h.Contents[t.File], "\n"), t.Line) {
			return fmt.Errorf("%s has no line %q", t.File, t.Line)
		}
		return nil
	}
	return t.access(h)
}

func (t *Test) refused(h Host) error {
	reason, asked := h.Refusals[t.Refused]
	switch {
	case !asked:
		return errors.New("the API was not asked")
	case !strings.Contains(reason, "violates PodSecurity") || !strings.Contains(reason, t.Has):
		return fmt.Errorf("a pod of %s is not refused for %q: %q", t.Refused, t.Has, reason)
	}
	return nil
}

func (t *Test) access(h Host) error {
	files := []string{t.File}
	if t.Below != "" {
		files = slices.DeleteFunc(slices.Sorted(maps.Keys(h.Files)), func(file string) bool {
			fits, err := path.Match(t.Below, path.Base(file))
			return err != nil || !fits || file != t.File && !strings.HasPrefix(file, t.File+"/")
		})
	}
	if len(files) == 0 {
		return fmt.Errorf("no file %s is below %s", t.Below, t.File)
	}
	for _, file := range files {
		has, ok := h.Files[file]
		if !ok {
			return fmt.Errorf("%s does not exist", file)
		}
		if t.Owner != "" && has.Owner != t.Owner {
			return fmt.Errorf("%s belongs to %s, not %s", file, has.Owner, t.Owner)
		}
		if t.Mode == "" {
			continue
		}
		most, err := strconv.ParseInt(t.Mode, 8, 32)
		if err != nil {
			return fmt.Errorf("mode of the check: %w", err)
		}
		if has.Mode&^most != 0 {
			return fmt.Errorf("%s has mode %o, more than %o", file, has.Mode, most)
		}
	}
	return nil
}

func (t *Test) flag(h Host) error {
	args, runs := h.Args[t.Of]
	if !runs {
		return fmt.Errorf("%s does not run", t.Of)
	}
	for _, name := range []string{t.Flag, t.And} {
		if name == "" {
			continue
		}
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--"+name+"=") })
		var values []string
		if i >= 0 {
			_, value, _ := strings.Cut(args[i], "=")
			values = strings.Split(value, ",")
		}
		if err := t.compare(values); err != nil {
			return fmt.Errorf("--%s of %s %w", name, t.Of, err)
		}
	}
	return nil
}

func (t *Test) key(h Host) error {
	var value any
	if err := yaml.Unmarshal([]byte(h.Contents[t.File]), &value); err != nil {
		return fmt.Errorf("reading %s: %w", t.File, err)
	}
	if value == nil {
		return fmt.Errorf("%s is empty or does not exist", t.File)
	}
	for _, part := range strings.Split(t.Key, ".") {
		value = step(value, part)
	}
	if err := t.compare(texts(value)); err != nil {
		return fmt.Errorf("%s of %s %w", t.Key, t.File, err)
	}
	return nil
}

// step returns the element of a mapping or list; nil when there is none.
func step(value any, part string) any {
	switch v := value.(type) {
	case map[string]any:
		return v[part]
	case []any:
		if i, err := strconv.Atoi(part); err == nil && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// texts returns the elements of a list, the keys of a mapping, or a single value.
func texts(value any) []string {
	var out []string
	switch v := value.(type) {
	case nil:
	case map[string]any:
		out = slices.Sorted(maps.Keys(v))
	case []any:
		for _, e := range v {
			out = append(out, fmt.Sprint(e))
		}
	default:
		out = []string{fmt.Sprint(v)}
	}
	return out
}

func (t *Test) compare(values []string) error {
	is := strings.Join(values, ",")
	switch {
	case t.Lacks != "":
		if slices.Contains(values, t.Lacks) {
			return fmt.Errorf("has %s", t.Lacks)
		}
		return nil
	case t.Unset:
		if values != nil {
			return fmt.Errorf("is %s, and should not be set", is)
		}
		return nil
	case len(values) == 0 || is == "":
		return errors.New("is not set")
	case t.Is != "" && is != t.Is:
		return fmt.Errorf("is %s, not %s", is, t.Is)
	case t.Has != "" && !slices.Contains(values, t.Has):
		return fmt.Errorf("is %s, without %s", is, t.Has)
	case t.Least > 0:
		if n, err := strconv.Atoi(is); err != nil || n < t.Least {
			return fmt.Errorf("is %s, less than %d", is, t.Least)
		}
	}
	for _, v := range values {
		if len(t.Among) > 0 && !slices.Contains(t.Among, v) {
			return fmt.Errorf("has %s, which is not among those that are allowed", v)
		}
	}
	return nil
}
