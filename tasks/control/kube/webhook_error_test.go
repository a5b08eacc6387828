package kube

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestWebhookThatCannotBeCalled: the server answers, so a dry run does not say that it is
// silent, and says the same of many objects once.
func TestWebhookThatCannotBeCalled(t *testing.T) {
	refused := apierrors.NewInternalError(errors.New(`failed calling webhook "gate.lund.example": service "none" not found`))
	if got := NotCompared(refused); !strings.Contains(got, `"gate.lund.example"`) || strings.Contains(got, "does not answer") {
		t.Errorf("NotCompared returns %q", got)
	}
	if got := NotCompared(apierrors.NewInternalError(errors.New("etcdserver: no leader"))); !strings.Contains(got, "does not answer now") {
		t.Errorf("another error: %q", got)
	}
	err := joinErrors([]error{refused, nil, refused, errors.New("other"), refused})
	if got := strings.Count(err.Error(), "gate.lund.example"); got != 1 || !strings.Contains(err.Error(), "the same for 2 other objects") || !strings.Contains(err.Error(), "other") {
		t.Errorf("joined: %v", err)
	}
	if err := joinErrors([]error{nil, nil}); err != nil {
		t.Errorf("no error became %v", err)
	}
}
