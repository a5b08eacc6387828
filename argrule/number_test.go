package argrule

import (
	"strings"
	"testing"
)

// TestNumberOfAMode: what YAML made of an octal number is its mode; what may be the digits of
// another mode, and what nobody wants, is refused.
func TestNumberOfAMode(t *testing.T) {
	for n, want := range map[int]string{0o640: "0640", 0o600: "0600", 0o644: "0644", 0o755: "0755", 0o400: "0400", 0o2775: "2775", 0o1777: "1777"} {
		if got, err := Number("mode", n, ""); err != nil || got != want {
			t.Errorf("%d is %q, %v; want %s", n, got, err, want)
		}
	}
	for n, want := range map[int]string{640: `write the mode that you mean as a text`, 644: `as "0644"`, 400: `as "0400"`, 500: `as "0500"`, 0o777: `as "0511"`, 755: `as "0755"`, -1: "no mode", 99999: "no mode", 0: "write the mode", 100: "as a text"} {
		if got, err := Number("preserve", n, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d is %q, %v; want %s", n, got, err, want)
		}
	}
	if _, err := Number("mode", 0.5, "0.5"); err == nil {
		t.Error("a fraction is a mode")
	}
}

func TestNumberOfOthers(t *testing.T) {
	if _, err := Number("version", 1.1, "1.1"); err == nil || !strings.Contains(err.Error(), `"1.1"`) {
		t.Errorf("the version 1.1 that may have been 1.10: %v", err)
	}
	for _, rule := range []string{"version", "owner", "text"} {
		if got, err := Number(rule, 15, "15"); err != nil || got != "15" {
			t.Errorf("%s of 15 is %q, %v", rule, got, err)
		}
	}
	if got, err := Number("text", 1.5, "1.5"); err != nil || got != "1.5" {
		t.Errorf("text of 1.5 is %q, %v", got, err)
	}
}
