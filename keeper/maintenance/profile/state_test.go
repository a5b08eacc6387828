package profile

import (
	"slices"
	"testing"
	"time"
)

func TestDataHasTheJSONOfMaintenanceController(t *testing.T) {
	// As written by maintenance-controller 2.1.0.
	const text = `{"Profiles":{"flatcar":{"Transition":"2026-11-28T10:00:00.123456789Z","Current":"in-maintenance","Previous":"maintenance-required"}},"Notifications":{"tell":"0001-01-01T00:00:00Z"}}`
	d, err := ParseData(text)
	if err != nil {
		t.Fatal(err)
	}
	p := d.Profiles["flatcar"]
	if p.Current != InMaintenance || p.Previous != Required || !p.Transition.Equal(time.Date(2026, 11, 28, 10, 0, 0, 123456789, time.UTC)) {
		t.Errorf("%+v", p)
	}
	if d.String() != text {
		t.Errorf("written as %s", d)
	}
	copied := d.Clone()
	copied.Profiles["flatcar"].Current, copied.Notifications["tell"] = Operational, time.Now()
	if d.String() != text {
		t.Error("a change of the clone changed the original")
	}
}

func TestDataThatNobodyUnderstandsIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		`{"Profiles":{"a":{"Current":"resting","Previous":"operational"}}}`:                     `reading annotation cloud.sap/maintenance-data: profile a: there is no state "resting"; known here: in-maintenance, maintenance-required, operational`,
		`{"Profiles":{"a":{"Current":"operational"}}}`:                                          `reading annotation cloud.sap/maintenance-data: profile a: there is no state ""; known here: in-maintenance, maintenance-required, operational`,
		`{"Profiles":{"a":null}}`:                                                               `reading annotation cloud.sap/maintenance-data: profile a has no state`,
		`{"Profiles":{"a":{"Current":"operational","Previous":"operational","Since":"today"}}}`: `reading annotation cloud.sap/maintenance-data: json: unknown field "Since"`,
		`{} {}`:          `reading annotation cloud.sap/maintenance-data: there is text after the JSON object`,
		`in-maintenance`: `reading annotation cloud.sap/maintenance-data: invalid character 'i' looking for beginning of value`,
	} {
		if _, err := ParseData(text); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestNamesOf(t *testing.T) {
	for label, want := range map[string][]string{
		"": {"default"}, "a": {"a"}, "a--b": {"a", "b"}, "a--b--a": {"a", "b"}, "--a--": {"a"}, "a-b--c": {"a-b", "c"},
	} {
		if got := NamesOf(map[string]string{ProfileLabel: label}); !slices.Equal(got, want) {
			t.Errorf("%q: got %q", label, got)
		}
	}
	if got := NamesOf(nil); !slices.Equal(got, []string{"default"}) {
		t.Errorf("no label: got %q", got)
	}
}
