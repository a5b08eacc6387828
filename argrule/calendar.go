package argrule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// calendarNames are the expressions of systemd.time(7) that stand for a whole schedule.
var calendarNames = []string{"minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "yearly", "annually", "anually",
	"semiannually", "semi-annually", "biannually", "bi-annually"}

var (
	calendarZone   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+_-]*(/[A-Za-z0-9+_-]+)*$`)
	unixTime       = regexp.MustCompile(`^@[0-9]+$`)
	calendarDate   = regexp.MustCompile(`^(?:([^-~]+)-)?([^-~]+)([-~])([^-~]+)$`)
	calendarSecond = regexp.MustCompile(`([0-9])\.[0-9]{1,6}\b`)
)

// calendarFault returns why a text is not a calendar event of systemd.time(7): weekdays, a
// date, a time of day and a time zone, each of which may be missing, or a name such as daily.
// It is at least as permissive as systemd 252: newer versions have more forms.
func calendarFault(text string) error {
	if slices.Contains(calendarNames, strings.ToLower(text)) || unixTime.MatchString(text) {
		return nil
	}
	words := strings.Split(text, " ")
	if slices.Contains(words, "") {
		return errors.New("one blank separates its parts")
	}
	if last := len(words) - 1; last > 0 && calendarZone.MatchString(words[last]) && weekdaysFault(words[last]) != nil {
		words = words[:last]
		if len(words) == 1 && slices.Contains(calendarNames, strings.ToLower(words[0])) {
			return nil
		}
	}
	if letter := words[0][0] | 0x20; letter >= 'a' && letter <= 'z' {
		if err := weekdaysFault(words[0]); err != nil {
			return err
		}
		if words = words[1:]; len(words) == 0 {
			return nil
		}
	}
	if date, clock, both := strings.Cut(words[0], "T"); both && len(words) == 1 {
		words = []string{date, clock} // RFC 3339
	}
	if len(words) > 2 {
		return fmt.Errorf("%q is too much: want weekdays, a date, a time and a time zone", words[2])
	}
	if !strings.Contains(words[0], ":") {
		if err := dateFault(words[0]); err != nil {
			return err
		}
		words = words[1:]
	}
	switch len(words) {
	case 0:
		return nil
	case 1:
		return clockFault(words[0])
	}
	return fmt.Errorf("%q is too much after the time", words[1])
}

// calendarDays are the weekdays in the order of systemd.
var calendarDays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

func weekdaysFault(word string) error {
	for part := range strings.SplitSeq(strings.TrimSuffix(word, ","), ",") {
		first, last, isRange := strings.Cut(part, "..")
		if !isRange {
			first, last, isRange = strings.Cut(part, "-")
		}
		from, to := weekdayIndex(first), weekdayIndex(last)
		switch {
		case from < 0:
			return fmt.Errorf("%q is not a weekday such as Mon", first)
		case isRange && to < 0:
			return fmt.Errorf("%q is not a weekday such as Mon", last)
		case isRange && to < from:
			return fmt.Errorf("the range %s ends before it begins, as weeks begin on Monday", part)
		}
	}
	return nil
}

func weekdayIndex(word string) int {
	word = strings.ToLower(word)
	return slices.IndexFunc(calendarDays, func(day string) bool { return word == day || word == day[:3] })
}

func dateFault(word string) error {
	parts := calendarDate.FindStringSubmatch(word)
	if parts == nil {
		return fmt.Errorf("%q is not a date such as *-*-01", word)
	}
	if year := parts[1]; year != "" {
		if err := (calendarField{low: 1970, high: 2199, year: true}).fault(year); err != nil {
			return fmt.Errorf("year: %w", err)
		}
	}
	if err := (calendarField{low: 1, high: 12}).fault(parts[2]); err != nil {
		return fmt.Errorf("month: %w", err)
	}
	day := calendarField{low: 1, high: 31}
	if parts[3] == "~" {
		day = calendarField{low: 1, high: 28, fromEnd: true}
	}
	if err := day.fault(parts[4]); err != nil {
		return fmt.Errorf("day: %w", err)
	}
	return nil
}

func clockFault(word string) error {
	parts := strings.Split(word, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return fmt.Errorf("%q is not a time of day such as 03:00", word)
	}
	if err := (calendarField{low: 0, high: 23}).fault(parts[0]); err != nil {
		return fmt.Errorf("hour: %w", err)
	}
	if err := (calendarField{low: 0, high: 59}).fault(parts[1]); err != nil {
		return fmt.Errorf("minute: %w", err)
	}
	if len(parts) == 3 {
		whole := calendarSecond.ReplaceAllString(parts[2], "$1") // fractions do not change what fits
		if err := (calendarField{low: 0, high: 59}).fault(whole); err != nil {
			return fmt.Errorf("second: %w", err)
		}
	}
	return nil
}

// calendarField is the range of the numbers of a part of a date or time. A part is * or a list
// of numbers and ranges, each with a repetition if wanted: 0/15.
type calendarField struct {
	low, high int
	year      bool // two digits stand for a year
	fromEnd   bool // days are counted from the end of the month
}

func (f calendarField) fault(text string) error {
	if text == "*" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		span, step, repeated := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(span, "..")
		from, err := f.number(first)
		if err != nil {
			return err
		}
		to := f.high
		if isRange {
			if to, err = f.number(last); err != nil {
				return err
			}
			if to < from && !f.fromEnd {
				return fmt.Errorf("the range %s ends before it begins", span)
			}
		}
		room := to - from
		if f.fromEnd {
			room = from - f.low
		}
		if n, err := strconv.Atoi(step); repeated && (err != nil || n < 1 || n > room) {
			return fmt.Errorf("the repetition %q of %s never happens", step, span)
		}
	}
	return nil
}

func (f calendarField) number(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if f.year && err == nil && n >= 0 && n < 100 {
		if n += 1900; n < f.low {
			n += 100
		}
	}
	if err != nil || strings.ContainsAny(word, "+-") || n < f.low || n > f.high {
		return 0, fmt.Errorf("%q is no number from %d to %d", word, f.low, f.high)
	}
	return n, nil
}
