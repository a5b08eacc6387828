package profile

import (
	"errors"
	"fmt"
	"time"
)

// timeWindow passes at some times of the week.
type timeWindow struct {
	Start    clock    `yaml:"start" required:"true" doc:"Time of day in UTC at which the window opens, such as 01:00."`
	End      clock    `yaml:"end" required:"true" doc:"Time of day in UTC at which the window closes; after start."`
	Weekdays weekdays `yaml:"weekdays" required:"true" doc:"Weekdays of the window."`
	Exclude  []date   `yaml:"exclude" doc:"Days without a window, such as Dec 24. Default none."`
}

// validate implements validator.
func (c *timeWindow) validate() error {
	switch {
	case len(c.Weekdays) == 0:
		return errors.New("weekdays is empty: the window never opens")
	case c.Start >= c.End:
		return errors.New("end must be later in the day than start; a window over midnight is two windows, joined with ||")
	}
	return nil
}

func (c *timeWindow) evaluate(s *subject) (Result, error) {
	now := s.world.Now.UTC()
	if !c.Weekdays.has(now.Weekday()) {
		return passedIf(false, "not on %s", now.Weekday())
	}
	for _, day := range c.Exclude {
		if day.month == now.Month() && day.day == now.Day() {
			return passedIf(false, "not on %s", now.Format(dateFormat))
		}
	}
	at := clockOf(now)
	return passedIf(at > time.Duration(c.Start) && at < time.Duration(c.End), "it is %s UTC", now.Format("15:04"))
}

const dateFormat = "Jan 2"

// date is a day of each year.
type date struct {
	month time.Month
	day   int
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *date) UnmarshalText(text []byte) error {
	t, err := time.Parse(dateFormat, string(text))
	if err != nil {
		return fmt.Errorf("want a day such as Dec 24, got %q", text)
	}
	*d = date{t.Month(), t.Day()}
	return nil
}

// wait passes some time after the last transition.
type wait struct {
	Duration Duration `yaml:"duration" required:"true" doc:"Time since the last transition in the profile."`
}

func (c *wait) evaluate(s *subject) (Result, error) {
	return elapsed(s.world.Now.Sub(s.since), c.Duration)
}

func elapsed(since time.Duration, want Duration) (Result, error) {
	if left := time.Duration(want) - since; left >= 0 {
		return passedIf(false, "%s left", left.Round(time.Second))
	}
	return passedIf(true, "%s are over", time.Duration(want))
}

// waitExclude is wait, without the time on some weekdays.
type waitExclude struct {
	Duration Duration `yaml:"duration" required:"true" doc:"Time since the last transition in the profile, without that on the excluded weekdays."`
	Exclude  weekdays `yaml:"exclude" required:"true" doc:"Weekdays in UTC that do not count."`
}

// validate implements validator.
func (c *waitExclude) validate() error {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if !c.Exclude.has(day) {
			return nil
		}
	}
	return errors.New("exclude has all weekdays: the time would never be over")
}

func (c *waitExclude) evaluate(s *subject) (Result, error) {
	return elapsed(c.counted(s.since.UTC(), s.world.Now.UTC()), c.Duration)
}

// maxDays bounds the days that are counted one by one; after ten years every wait is over.
const maxDays = 3660

// counted returns the time between two moments on days that count.
func (c *waitExclude) counted(from, to time.Time) time.Duration {
	if from.Before(to.AddDate(0, 0, -maxDays)) {
		from = to.AddDate(0, 0, -maxDays)
	}
	var sum time.Duration
	for from.Before(to) {
		midnight := time.Date(from.Year(), from.Month(), from.Day()+1, 0, 0, 0, 0, time.UTC)
		if midnight.After(to) {
			midnight = to
		}
		if !c.Exclude.has(from.Weekday()) {
			sum += midnight.Sub(from)
		}
		from = midnight
	}
	return sum
}
