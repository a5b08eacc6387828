package profile

import (
	"testing"
	"time"
)

func TestSchedules(t *testing.T) {
	entered := Progress{saturday, Required, Operational}
	stays := Progress{saturday, Required, Required}
	never := time.Time{}
	for i, c := range []struct {
		schedule Schedule
		progress Progress
		last     time.Time
		now      time.Time
		want     bool
	}{
		{&oneshot{Duration(time.Minute)}, entered, never, saturday.Add(59 * time.Second), false},
		{&oneshot{Duration(time.Minute)}, entered, never, saturday.Add(time.Minute), true},
		{&oneshot{Duration(time.Minute)}, stays, saturday.Add(time.Minute), saturday.Add(time.Hour), false},
		{&oneshot{}, stays, saturday.Add(-time.Minute), saturday.Add(time.Hour), true},
		{&oneshot{}, Progress{Current: Required, Previous: Required}, never, saturday, false},
		{&periodic{Duration(time.Hour)}, entered, saturday.Add(-time.Second), saturday, true},
		{&periodic{Duration(time.Hour)}, stays, saturday, saturday.Add(59 * time.Minute), false},
		{&periodic{Duration(time.Hour)}, stays, saturday, saturday.Add(time.Hour), true},
		{&periodic{Duration(time.Hour)}, Progress{saturday, Operational, Operational}, never, saturday.Add(time.Hour), false},
		{&periodic{Duration(time.Hour)}, Progress{saturday, Operational, InMaintenance}, saturday, saturday, true},
		{&scheduled{clock(12 * time.Hour), weekdays{weekday(time.Saturday)}}, stays, never, saturday.Add(-time.Second), false},
		{&scheduled{clock(12 * time.Hour), weekdays{weekday(time.Saturday)}}, stays, never, saturday, true},
		{&scheduled{clock(12 * time.Hour), weekdays{weekday(time.Saturday)}}, stays, saturday, saturday.Add(time.Hour), false},
		{&scheduled{clock(12 * time.Hour), weekdays{weekday(time.Saturday)}}, stays, saturday.AddDate(0, 0, -7), saturday, true},
		{&scheduled{clock(12 * time.Hour), weekdays{weekday(time.Saturday)}}, stays, saturday.AddDate(0, -1, 0), saturday, true},
		{&scheduled{clock(12 * time.Hour), weekdays{weekday(time.Sunday)}}, stays, never, saturday, false},
	} {
		if got := c.schedule.due(c.progress, c.last, c.now); got != c.want {
			t.Errorf("%d: %+v: got %v", i, c.schedule, got)
		}
	}
}

func TestTemplates(t *testing.T) {
	m := Message{Node: member("n1", Required, "zone", "z1"), State: Required, Profile: Names{"a", "b"}, LastTransition: saturday}
	for text, want := range map[string]string{
		`{{ .Node.Name }} in {{ index .Node.Labels "zone" }}{{ index .Node.Annotations "none" }}`: "n1 in z1",
		`{{ .State }} {{ .Profile }} {{ .Profile.Current }} {{ .Profile.Last }}`:                  "maintenance-required a a b",
		`{{ if eq .State "maintenance-required" }}yes{{ end }} {{ .LastTransition.Year }}`:        "yes 2026",
	} {
		var tpl Template
		if err := tpl.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := tpl.Render(m); err != nil || got != want {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	var tpl Template
	if err := tpl.UnmarshalText([]byte(`{{ range .Node.Labels }}{{ printf "%50000s" "" }}{{ end }}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := tpl.Render(m); err == nil {
		t.Error("a text of 150 kB was rendered")
	}
}
