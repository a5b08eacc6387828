package argrule

import (
	"fmt"
	"strconv"
)

// Number returns the text that a number of a variable stands for in an argument with the rule.
// A mode is the number that it is: 416 is 0640, as for Ansible, where 0640 in YAML is 416.
// Numbers that may mean something else are errors that say what to write: the mode 640, the
// version 1.1 that was written 1.10. printed is the text of the number as a text has it.
func Number(rule string, value any, printed string) (string, error) {
	switch rule {
	case "mode", "preserve":
		n, ok := value.(int)
		if !ok {
			return "", fmt.Errorf(`%s is no mode; write the mode as a text, such as "0644"`, printed)
		}
		return modeOf(n)
	case "version", "revision":
		if _, ok := value.(float64); ok {
			return "", fmt.Errorf(`the number %s is no version, as 1.10 and 1.1 are the same number; write it as a text: "%[1]s"`, printed)
		}
	}
	return printed, nil
}

// modeOf returns the mode of a number. It refuses a number whose mode nobody wants, and one
// whose decimal digits are a mode as well: 400 is 0620, and its author meant 0400.
func modeOf(n int) (string, error) {
	text := fmt.Sprintf("%04o", n)
	digits, err := strconv.ParseUint(strconv.Itoa(n), 8, 12)
	looksOctal := err == nil && plausible(int(digits))
	switch {
	case n < 0 || n > 0o7777:
		return "", fmt.Errorf(`the number %d is no mode; write the mode as a text, such as "0644"`, n)
	case looksOctal:
		return "", fmt.Errorf(`the number %d is the mode %s, and may be meant as "%04d"; write the mode that you mean as a text, in quotes`, n, text, n)
	case !plausible(n):
		return "", fmt.Errorf(`the number %d is the mode %s; write the mode that you mean as a text, such as "0644"`, n, text)
	}
	return text, nil
}

// plausible reports whether somebody may want a mode: the owner may read, and group and others
// may do nothing that the owner may not.
func plausible(mode int) bool {
	owner, group, other := mode>>6&7, mode>>3&7, mode&7
	return owner&4 != 0 && group&^owner == 0 && other&^owner == 0
}
