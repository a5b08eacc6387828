package dialect

import (
	"crypto/md5"  //nolint:gosec // md5sum of a file is what the filter is for
	"crypto/sha1" //nolint:gosec // likewise
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strings"

	"gopkg.in/yaml.v3"
)

func dataFilters() map[string]filter {
	return map[string]filter{
		"b64encode":    text(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"b64decode":    {do: b64decode},
		"to_json":      {do: func(c *call) (any, error) { return toJSON(c.value, "") }},
		"to_nice_json": {do: toNiceJSON, most: 1},
		"from_json":    {do: fromJSON},
		"to_yaml":      {do: toYAML, most: 1},
		"to_nice_yaml": {do: toYAML, most: 1},
		"from_yaml":    {do: fromYAML},
		"hash":         {do: hashed, most: 1},
		"checksum":     {do: func(c *call) (any, error) { return digest(c, "sha1") }},
		"md5":          {do: func(c *call) (any, error) { return digest(c, "md5") }},
		"sha1":         {do: func(c *call) (any, error) { return digest(c, "sha1") }},
	}
}

func b64decode(c *call) (any, error) {
	s, ok := c.value.(string)
	if !ok {
		return nil, fmt.Errorf("want a text, got %s", describe(c.value))
	}
	out, err := base64.StdEncoding.DecodeString(s)
	return string(out), err
}

// blanks returns the indentation that a call wants, in characters.
func (c *call) blanks(otherwise int) (int, error) {
	n, err := c.number(0, "indent", otherwise)
	if err != nil || n < 1 || n > 16 {
		return 0, errors.Join(err, errors.New("indent: want a number from 1 to 16"))
	}
	return n, nil
}

func toNiceJSON(c *call) (any, error) {
	n, err := c.blanks(4)
	if err != nil {
		return nil, err
	}
	return toJSON(c.value, strings.Repeat(" ", n))
}

// toYAML prints block style, sorted keys and a final line feed, as Ansible does.
func toYAML(c *call) (any, error) {
	n, err := c.blanks(4)
	if err != nil {
		return nil, err
	}
	if err := BoundValue(c.value, n); err != nil {
		return nil, err
	}
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(n)
	if err := enc.Encode(c.value); err != nil {
		return nil, err
	}
	return b.String(), nil
}

func fromJSON(c *call) (any, error) {
	s, ok := c.value.(string)
	if !ok {
		return c.value, nil
	}
	if err := BoundJSON(s); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return numbers(v), nil
}

// numbers converts whole numbers of JSON to int.
func numbers(v any) any {
	switch t := v.(type) {
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return int(n)
		}
		f, _ := t.Float64()
		return f
	case []any:
		for i, e := range t {
			t[i] = numbers(e)
		}
	case map[string]any:
		for k, e := range t {
			t[k] = numbers(e)
		}
	}
	return v
}

func fromYAML(c *call) (any, error) {
	s, ok := c.value.(string)
	if !ok {
		return c.value, nil
	}
	return DecodeYAML(s)
}

func hashed(c *call) (any, error) {
	name, err := c.text(0, "hashtype", "sha1")
	if err != nil {
		return nil, err
	}
	return digest(c, name)
}

func digest(c *call, name string) (any, error) {
	s, err := Print(c.value)
	if err != nil {
		return nil, err
	}
	var h hash.Hash
	switch name {
	case "md5":
		h = md5.New() //nolint:gosec // the caller asked for it
	case "sha1":
		h = sha1.New() //nolint:gosec // the caller asked for it
	case "sha256":
		h = sha256.New()
	case "sha512":
		h = sha512.New()
	default:
		return nil, fmt.Errorf("there is no hash %q; there are md5, sha1, sha256 and sha512", name)
	}
	h.Write([]byte(s))
	return hex.EncodeToString(h.Sum(nil)), nil
}
