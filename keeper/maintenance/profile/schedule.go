package profile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/strictyaml"
)

// Schedule decides when a notification is sent.
type Schedule interface {
	// due reports whether a notification that was last sent at last, zero for never, is due now for a node with this
	// progress.
	due(p Progress, last, now time.Time) bool
}

// oneshot notifies once after each change of state.
type oneshot struct {
	Delay Duration `yaml:"delay" doc:"Time after the change of state. Default 1m, as in maintenance-controller's code."`
}

func (o *oneshot) due(p Progress, last, now time.Time) bool {
	return !p.Transition.IsZero() && !last.After(p.Transition) && now.Sub(p.Transition) >= time.Duration(o.Delay)
}

// periodic notifies after each change of state, and again after each interval while the node is not operational.
type periodic struct {
	Interval Duration `yaml:"interval" doc:"Time between two notifications. Default 1h."`
}

func (s *periodic) due(p Progress, last, now time.Time) bool {
	return p.Current != p.Previous || now.Sub(last) >= time.Duration(s.Interval) && p.Previous != Operational
}

// scheduled notifies once a day on some weekdays, from a time of day on.
type scheduled struct {
	Instant  clock    `yaml:"instant" required:"true" doc:"Time of day in UTC, such as 09:30."`
	Weekdays weekdays `yaml:"weekdays" required:"true" doc:"Weekdays, such as monday or mon."`
}

func (s *scheduled) due(_ Progress, last, now time.Time) bool {
	now, last = now.UTC(), last.UTC()
	today := now.Year() == last.Year() && now.YearDay() == last.YearDay()
	return s.Weekdays.has(now.Weekday()) && clockOf(now) >= time.Duration(s.Instant) && !today
}

// Duration is a duration of a file, such as 8m. A number without a unit is in seconds, as in go-ucfg.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	value := string(text)
	if strings.Trim(value, "0123456789") == "" {
		value += "s"
	}
	parsed, err := time.ParseDuration(value)
	if err != nil || parsed < 0 {
		return fmt.Errorf("want a duration such as 30s, 8m or 1h30m, got %q", text)
	}
	*d = Duration(parsed)
	return nil
}

// clock is a time of day, as the time since midnight.
type clock time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *clock) UnmarshalText(text []byte) error {
	t, err := time.Parse("15:04", string(text))
	if err != nil {
		return fmt.Errorf("want a time of day such as 09:30, got %q", text)
	}
	*c = clock(clockOf(t))
	return nil
}

// clockOf returns the time since midnight in UTC.
func clockOf(t time.Time) time.Duration {
	t = t.UTC()
	return t.Sub(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC))
}

// weekday is a day of the week.
type weekday time.Weekday

// UnmarshalText implements encoding.TextUnmarshaler. It accepts names in any case, and their first three letters.
func (w *weekday) UnmarshalText(text []byte) error {
	var known []string
	for day := time.Sunday; day <= time.Saturday; day++ {
		full := strings.ToLower(day.String())
		if word := strings.ToLower(string(text)); word == full || word == full[:3] {
			*w = weekday(day)
			return nil
		}
		known = append(known, full)
	}
	return fmt.Errorf("%q is not a weekday%s", text, strictyaml.DidYouMean(string(text), known))
}

type weekdays []weekday

func (w weekdays) has(day time.Weekday) bool { return slices.Contains(w, weekday(day)) }
