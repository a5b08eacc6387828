package inventory

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	inv := mustRead(t, full)
	for pattern, want := range map[string]string{
		"all":               "m1 m2 m3 n1 n2 lb.example.org",
		"*":                 "m1 m2 m3 n1 n2 lb.example.org",
		"minion":            "n1 n2",
		"node":              "m1 m2 m3 n1 n2",
		"etcd":              "m1 m2 m3",
		"n2,m1":             "m1 n2",
		"n2:m1":             "m1 n2",
		"m[1:2]":            "m1 m2",
		"m[1:2]:!m2":        "m1",
		"row:&master":       "m1 m2",
		"all:!master":       "n1 n2 lb.example.org",
		"!master":           "n1 n2 lb.example.org",
		"&row, !m*":         "n1 n2",
		"minion:!rack1,m3":  "m3 n1",
		"m?":                "m1 m2 m3",
		"lb.example.org":    "lb.example.org",
		"master:!row:!m3":   "",
		"all:!zz*:!n1,!n2 ": "",
	} {
		got, err := inv.Match(pattern)
		if pattern == "all:!zz*:!n1,!n2 " {
			if err == nil {
				t.Error("a glob that matches no host was taken")
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: got %s, want %s", pattern, s, want)
		}
	}
}

func TestMatchErrors(t *testing.T) {
	inv := mustRead(t, full)
	for pattern, want := range map[string]string{
		"":         "the pattern of hosts is empty; all matches every host",
		" , ":      "the pattern of hosts is empty; all matches every host",
		"minions":  `pattern "minions": there is no host or group "minions"; did you mean "minion"?`,
		"m1,!rak1": `pattern "m1,!rak1": there is no host or group "rak1"; did you mean "rack1"?`,
		"m[1:4]":   `pattern "m[1:4]": there is no host or group "m4"; did you mean "m1"?`,
		"z*":       `pattern "z*": no host has a name like "z*"`,
		"m[3:1]":   `pattern "m[3:1]": range [3:1]: the end is before the start`,
	} {
		if _, err := inv.Match(pattern); err == nil || err.Error() != want {
			t.Errorf("%q: got %v\nwant %s", pattern, err, want)
		}
	}
}

func TestMatchOverOtherGroups(t *testing.T) {
	got, err := Match("gone:here", []string{"b", "a"}, map[string][]string{"gone": {}, "here": {"a", "b", "elsewhere"}})
	if err != nil || strings.Join(got, " ") != "b a" {
		t.Errorf("got %v, %v", got, err)
	}
}
