package journal

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDifferencesOfEveryField fills each field of an invocation in turn and expects one line
// for it: a new field that Differences forgets would be executed unseen.
func TestDifferencesOfEveryField(t *testing.T) {
	fields := reflect.TypeFor[Invocation]()
	for i := range fields.NumField() {
		var recorded Invocation
		v := reflect.ValueOf(&recorded).Elem().Field(i)
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int:
			v.SetInt(7)
		case reflect.Slice:
			v.Set(reflect.ValueOf([]string{"x"}))
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]any{"x": "y"}))
		default:
			t.Fatalf("%s has a kind that this test does not fill", fields.Field(i).Name)
		}
		name := fields.Field(i).Name
		if got := recorded.Differences(Invocation{}); len(got) != 1 {
			t.Errorf("%s is set: %q", name, got)
		}
		if got := (Invocation{}).Differences(recorded); len(got) != 1 {
			t.Errorf("%s is expected: %q", name, got)
		}
		if got := recorded.Differences(recorded); got != nil {
			t.Errorf("%s is equal: %q", name, got)
		}
	}
}

// TestDifferences checks values as they come back from JSON, and that a record prints no
// control characters.
func TestDifferences(t *testing.T) {
	want := Invocation{Verb: "run", Extra: map[string]any{"release": 7, "list": []any{1, "a"}}, Withheld: []string{"b", "a"}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var read Invocation
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	read.Withheld = []string{"a", "b"}
	if got := read.Differences(want); got != nil {
		t.Errorf("read back from JSON: %q", got)
	}
	read.Extra["release"], read.Extra["more"], read.Extra["empty"], read.Tags = "7", nil, "", []string{"wipe"}
	read.Limit = "a\nROW\u202e\x7f"
	got := read.Differences(want)
	if diff := cmp.Diff([]string{
		`limit: want "", the record has "a\nROW\u202e\u007f"`,
		`tags: want none, the record has ["wipe"]`,
		`variable "empty": want none, the record has ""`,
		`variable "more": want none, the record has null`,
		`variable "release": want 7, the record has "7"`,
	}, got); diff != "" {
		t.Error(diff)
	}
	if strings.ContainsAny(strings.Join(got, ""), "\n\x1b") {
		t.Errorf("control characters: %q", got)
	}
}
