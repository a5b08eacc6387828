package measure

import (
	"strings"
	"testing"
	"time"
)

func TestParseBusy(t *testing.T) {
	got := parseBusy("cpu  100 20 30 4000 500 6 7 8 90 10")
	if want := 1710 * time.Millisecond; got != want {
		t.Errorf("got %s, want %s: without idle, iowait and guests", got, want)
	}
}

func TestParseUsage(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5880437523\n": 5880437523 * time.Nanosecond,
		"usage_usec 5880437\nuser_usec 4000000\nsystem_usec 1880437\n": 5880437 * time.Microsecond,
	} {
		got, err := parseUsage(text)
		if err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestOtherWorkOnTheMachineIsTold(t *testing.T) {
	quiet := Usage{Machine: 100 * time.Second, Own: 95 * time.Second}
	if got := quiet.String(); got != "processor time 95.0 s" {
		t.Error(got)
	}
	loud := Usage{Machine: 100 * time.Second, Own: 60 * time.Second}
	if got := loud.String(); !strings.Contains(got, "40.0 s of other work") {
		t.Error(got)
	}
}

func TestMedian(t *testing.T) {
	for want, all := range map[time.Duration][]time.Duration{0: nil, 3: {3}, 2: {9, 1, 2}, 5: {6, 4, 100, 1}} {
		if got := Median(all); got != want {
			t.Errorf("%v: %d, want %d", all, got, want)
		}
	}
}
