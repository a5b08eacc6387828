package dialect

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func numberFilters() map[string]filter {
	return map[string]filter{
		"bool":           {do: toBool},
		"int":            {do: number, most: 2},
		"float":          {do: float, most: 1},
		"round":          {do: round, most: 2},
		"human_readable": {do: humanReadable},
		"ternary":        {do: ternary, most: 3},
		"default":        {do: otherwise, most: 2},
		"d":              {do: otherwise, most: 2},
		"mandatory":      {do: mandatory, most: 1},
	}
}

// toBool converts the words of YAML for true and false.
func toBool(c *call) (any, error) {
	switch t := c.value.(type) {
	case bool:
		return t, nil
	case string:
		switch strings.ToLower(t) {
		case "yes", "on", "1", "true":
			return true, nil
		}
		return false, nil
	}
	n, ok := toInt(c.value)
	return ok && n == 1, nil
}

// number converts to a whole number; a value that is none gives the default, 0.
func number(c *call) (any, error) {
	otherwise, err := c.number(0, "default", 0)
	if err != nil {
		return nil, err
	}
	base, err := c.number(1, "base", 10)
	if err != nil || base < 2 || base > 36 {
		return nil, fmt.Errorf("base: want a number from 2 to 36: %w", err)
	}
	switch t := c.value.(type) {
	case bool:
		if t {
			return 1, nil
		}
		return 0, nil
	case string:
		s := strings.TrimSpace(t)
		if n, err := strconv.ParseInt(s, base, 64); err == nil {
			return int(n), nil
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<53 {
			return int(f), nil
		}
		return otherwise, nil
	}
	if f, ok := toFloat(c.value); ok && math.Abs(f) < 1<<53 {
		return int(f), nil
	}
	return otherwise, nil
}

func float(c *call) (any, error) {
	if s, ok := c.value.(string); ok {
		if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
			return f, nil
		}
	}
	if f, ok := toFloat(c.value); ok {
		return f, nil
	}
	return c.arg(0, "default", 0.0), nil
}

func round(c *call) (any, error) {
	f, ok := toFloat(c.value)
	if !ok {
		return nil, fmt.Errorf("want a number, got %s", describe(c.value))
	}
	digits, err := c.number(0, "precision", 0)
	if err != nil {
		return nil, err
	}
	method, err := c.text(1, "method", "common")
	if err != nil {
		return nil, err
	}
	do, ok := map[string]func(float64) float64{"common": math.RoundToEven, "ceil": math.Ceil, "floor": math.Floor}[method]
	if !ok {
		return nil, fmt.Errorf("method %q: want common, ceil or floor", method)
	}
	scale := math.Pow(10, float64(digits))
	return do(f*scale) / scale, nil
}

// humanReadable prints a number of bytes with a unit of 1024.
func humanReadable(c *call) (any, error) {
	f, ok := toFloat(c.value)
	if !ok {
		return nil, fmt.Errorf("want a number, got %s", describe(c.value))
	}
	units := []string{"bytes", "KB", "MB", "GB", "TB", "PB"}
	i := 0
	for ; math.Abs(f) >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	return strconv.FormatFloat(f, 'f', 2, 64) + " " + units[i], nil
}

func ternary(c *call) (any, error) {
	yes, no := c.arg(0, "true_val", nil), c.arg(1, "false_val", nil)
	none := c.arg(2, "none_val", no)
	switch {
	case c.value == nil:
		return none, nil
	case Truthy(c.value):
		return yes, nil
	}
	return no, nil
}

// otherwise is the filter default for items of a list. Elsewhere package lang turns
// default into a choice, so that the value may be missing.
func otherwise(c *call) (any, error) {
	fallback := c.arg(0, "default_value", "")
	if c.value == nil || c.flag(1, "boolean") && !Truthy(c.value) {
		return fallback, nil
	}
	return c.value, nil
}

func mandatory(c *call) (any, error) {
	msg, err := c.text(0, "msg", "a value is wanted here")
	if err != nil {
		return nil, err
	}
	if c.value == nil {
		return nil, fmt.Errorf("%s", msg)
	}
	return c.value, nil
}
