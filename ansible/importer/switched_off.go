package importer

import (
	"fmt"
	"regexp"
	"strings"
)

// reportedWhenOff are settings whose false has no equivalent either: deployer behaves
// in a third way, which the note describes.
var reportedWhenOff = map[string]bool{"kube_api_anonymous_auth": true}

// wholeReference is a text that is one variable and nothing else, such as
// "{{ metallb_enabled }}".
var wholeReference = regexp.MustCompile(`^\{\{\s*(\w+)\s*\}\}$`)

// switches are the variables of a Kubespray inventory with values that all mean off.
// A variable that any group or host sets to something else is not among them.
type switches map[string]bool

// switchesOff collects the switches from all groups and hosts.
func (s *Source) switchesOff() switches {
	off := switches{}
	for _, scope := range []map[string]vars{s.groupVars, s.hostVars} {
		for _, vs := range scope {
			for name, v := range vs {
				earlier, seen := off[name]
				off[name] = isOff(v.v) && (earlier || !seen)
			}
		}
	}
	return off
}

// inactive reports whether a setting has no effect: it is off, refers to a variable
// that is off, or is a detail of a feature that is off, as metallb_namespace is of
// metallb_enabled.
func (off switches) inactive(name string, v any) bool {
	if reportedWhenOff[name] {
		return false
	}
	if isOff(v) {
		return true
	}
	if text, ok := v.(string); ok {
		if m := wholeReference.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
			return off[m[1]]
		}
	}
	for i, c := range name {
		feature := name[:i]
		if c == '_' && (off[feature+"_enabled"] || off["enable_"+feature] || off["deploy_"+feature]) {
			return true
		}
	}
	return false
}

// isOff reports whether a value switches off, or is empty.
func isOff(v any) bool {
	switch t := v.(type) {
	case nil:
		return true
	case []any:
		return len(t) == 0
	case map[string]any:
		return len(t) == 0
	}
	switch strings.ToLower(fmt.Sprint(v)) {
	case "", "false", "no", "off":
		return true
	}
	return false
}
