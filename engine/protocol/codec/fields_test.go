package codec

import (
	"reflect"
	"slices"
	"testing"

	"deployer/engine"
)

// TestNoFieldIsForgotten: the values that the other tests encode and decode set every
// field of the messages, so that a new field must be encoded.
func TestNoFieldIsForgotten(t *testing.T) {
	controllers := []string{"Host", "Name", "Delegate", "RunOnce", "Unknown", "MaxParallel", "Weight", "OnController"} // only the controller says these
	for _, c := range []struct {
		full any
		but  []string
	}{
		{full: engine.Segment{Run: "r1", ResumedRuns: []string{"r0"}, CheckOnly: true, Unlocked: true, Steps: []engine.Step{fullStep}}, but: []string{"Quiet"}}, // hosts are not told
		{full: fullStep, but: []string{"Quiet"}}, // is never sent
		{full: *fullStep.Expect},
		{full: fullResult, but: controllers},
		{full: *fullResult.Failure, but: []string{"Exit"}},                        // is never sent
		{full: *fullResult.Change, but: []string{"CheckState"}},                   // is never sent
		{full: fullResult.Change.Effects[0], but: []string{"Secret", "Redacted"}}, // the second effect has these
		{full: fullResult.Change.Effects[1], but: []string{"Diff"}},
	} {
		v := reflect.ValueOf(c.full)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Field(i).IsZero() && !slices.Contains(c.but, name) {
				t.Errorf("%T.%s: give it a value in the tests, and pack it", c.full, name)
			}
		}
	}
}
