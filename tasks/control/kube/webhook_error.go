package kube

import (
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// webhookFailure is the beginning of an API server's error about a webhook that it could not
// call (apiserver pkg/admission/plugin/webhook/errors, ErrCallingWebhook; the admission
// plugins put it into an internal error).
var webhookFailure = regexp.MustCompile(`failed calling webhook "([^"]*)"`)

// FailedWebhook returns the name of the webhook because of which the API server refused a
// request: the server answers, and cannot call the webhook. It is empty for other errors.
func FailedWebhook(err error) string {
	if !apierrors.IsInternalError(err) {
		return ""
	}
	if found := webhookFailure.FindStringSubmatch(err.Error()); found != nil {
		return found[1]
	}
	return ""
}

// NotCompared returns why a dry run could not compare objects.
func NotCompared(err error) string {
	if name := FailedWebhook(err); name != "" {
		return fmt.Sprintf("not compared: the API server cannot call webhook %q", name)
	}
	return "not compared: the API does not answer now"
}

// joinErrors joins the errors of several objects. Objects that are refused because of the same
// webhook are one error.
func joinErrors(errs []error) error {
	var out []error
	of := map[string]int{} // by webhook: index in out
	more := map[string]int{}
	for _, err := range errs {
		name := FailedWebhook(err)
		if _, known := of[name]; known {
			more[name]++
			continue
		}
		if name != "" {
			of[name] = len(out)
		}
		if err != nil {
			out = append(out, err)
		}
	}
	for name, at := range of {
		if n := more[name]; n > 0 {
			out[at] = fmt.Errorf("%w (and the same for %d other objects)", out[at], n)
		}
	}
	return errors.Join(out...)
}
