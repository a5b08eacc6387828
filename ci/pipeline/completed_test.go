package pipeline

import (
	"errors"
	"testing"
)

// TestCompleted: a verb that has done its work in a cluster with other problems is no failed deploy.
func TestCompleted(t *testing.T) {
	other := errors.New("no such file")
	for _, tt := range []struct {
		err, want error
	}{
		{nil, nil}, {other, other}, {&commandError{code: exitUnhealthy}, nil},
	} {
		if got := completed(tt.err); got != tt.want { //nolint:errorlint // the same error
			t.Errorf("%v became %v", tt.err, got)
		}
	}
	if completed(&commandError{code: exitRefused}) == nil {
		t.Error("a refusal is no failure")
	}
}
