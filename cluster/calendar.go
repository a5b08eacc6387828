package cluster

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// calendarWords are the shorthands of systemd.time(7).
var calendarWords = []string{"minutely", "hourly", "daily", "monthly", "weekly", "yearly", "annually", "quarterly", "semiannually", "biannually", "bi-annually", "semi-annually"}

var (
	weekdayNames = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	timezone     = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+/-]*$`) // the zones that there are differ between hosts
	since1970    = regexp.MustCompile(`^@\d+(\.\d+)?$`)
	// component is a part of a date or time: a number or a range, and how often it repeats.
	component = regexp.MustCompile(`^(\*|(\d+)(?:\.\d{1,6})?(?:\.\.(\d+)(?:\.\d{1,6})?)?(?:/0*[1-9]\d*(?:\.\d{1,6})?)?)$`)
)

// checkCalendar returns the reason why systemd refuses a calendar event; nil when it does not:
// optional weekdays, date and time, of which one must be there, and an optional time zone.
func checkCalendar(text string) error {
	words := strings.Fields(text)
	if last := len(words) - 1; last > 0 && timezone.MatchString(words[last]) && checkWeekdays(words[last]) != nil {
		words = words[:len(words)-1]
	}
	if len(words) == 1 && (slices.Contains(calendarWords, strings.ToLower(words[0])) || since1970.MatchString(words[0])) {
		return nil
	}
	if len(words) > 0 && checkWeekdays(words[0]) == nil {
		if words = words[1:]; len(words) == 0 {
			return nil
		}
	}
	if len(words) > 0 && strings.Contains(words[0], "-") {
		if err := checkDate(words[0]); err != nil {
			return err
		}
		if words = words[1:]; len(words) == 0 {
			return nil
		}
	}
	switch {
	case len(words) == 0:
		return errors.New("which is empty")
	case len(words) > 1 || !strings.Contains(words[0], ":"):
		return fmt.Errorf("whose %q is neither weekdays nor a date nor a time", words[0])
	}
	parts := strings.Split(words[0], ":")
	if len(parts) > 3 {
		return fmt.Errorf("whose time %q has more than hours, minutes and seconds", words[0])
	}
	for i, high := range []int{23, 59, 59}[:len(parts)] {
		if err := checkComponent(parts[i], 0, high); err != nil {
			return err
		}
	}
	return nil
}

// checkWeekdays checks a list of weekdays and ranges of them, such as Mon..Fri,Sun.
func checkWeekdays(text string) error {
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.ToLower(text), ","), ",") {
		last := -1
		for day := range strings.SplitSeq(strings.ReplaceAll(part, "..", "-"), "-") {
			i := slices.IndexFunc(weekdayNames, func(name string) bool { return day == name || day == name[:3] })
			if i < 0 || i < last {
				return fmt.Errorf("whose %q is no weekday, and no range of them in the order of a week", part)
			}
			last = i
		}
	}
	return nil
}

// checkDate checks year-month-day or month-day. A ~ before the day counts from the end of the
// month.
func checkDate(text string) error {
	parts := strings.Split(strings.Replace(text, "~", "-", 1), "-")
	if len(parts) < 2 || len(parts) > 3 {
		return fmt.Errorf("whose date %q is not year-month-day", text)
	}
	limits := [][2]int{{0, 2199}, {1, 12}, {1, 31}}[3-len(parts):]
	for i, part := range parts {
		if err := checkComponent(part, limits[i][0], limits[i][1]); err != nil {
			return err
		}
	}
	return nil
}

// checkComponent checks a list of numbers, ranges and repetitions between two bounds.
func checkComponent(text string, low, high int) error {
	for part := range strings.SplitSeq(text, ",") {
		m := component.FindStringSubmatch(part)
		if m == nil {
			return fmt.Errorf("whose %q is no number, range or *", part)
		}
		least := low
		for _, number := range m[2:] {
			if number == "" {
				continue
			}
			n, err := strconv.Atoi(number)
			if err != nil || n < least || n > high {
				return fmt.Errorf("whose %q is not from %d to %d", part, low, high)
			}
			least = n // the second one ends the range
		}
	}
	return nil
}
