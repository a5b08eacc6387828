package importer

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// The plain scalars of YAML 1.1 as PyYAML resolves them, with which Ansible reads files.
// yes, off and 0644 are a boolean, a boolean and the number 420; 1e3 is a text.
var (
	plainNull  = regexp.MustCompile(`^(?:~|null|Null|NULL|)$`)
	plainTrue  = regexp.MustCompile(`^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$`)
	plainFalse = regexp.MustCompile(`^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$`)
	plainInt   = regexp.MustCompile(`^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	plainFloat = regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*)$`)
	plainInf   = regexp.MustCompile(`^[-+]?\.(?:inf|Inf|INF)$`)
	plainNaN   = regexp.MustCompile(`^\.(?:nan|NaN|NAN)$`)
	plainDate  = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	plainTime  = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?$`)
)

// plain11 returns the value of a plain scalar.
func plain11(text string) scalar {
	switch {
	case plainNull.MatchString(text):
		return scalar{}
	case plainTrue.MatchString(text):
		return scalar{v: true}
	case plainFalse.MatchString(text):
		return scalar{v: false}
	case plainInt.MatchString(text):
		return scalar{v: int11(text)}
	case plainFloat.MatchString(text):
		return scalar{v: float11(text)}
	case plainInf.MatchString(text):
		return scalar{v: math.Inf(map[bool]int{true: -1, false: 1}[text[0] == '-'])}
	case plainNaN.MatchString(text):
		return scalar{v: math.NaN()}
	case plainDate.MatchString(text):
		return scalar{v: text, remark: "a date in Ansible is a text here"}
	case plainTime.MatchString(text):
		return scalar{v: text, remark: "a time in Ansible is a text here"}
	}
	return scalar{v: text}
}

func int11(text string) any {
	text = strings.ReplaceAll(text, "_", "")
	sign, digits := "", text
	if strings.ContainsRune("+-", rune(text[0])) {
		sign, digits = strings.TrimPrefix(text[:1], "+"), text[1:]
	}
	base := 10
	switch {
	case strings.Contains(digits, ":"):
		return int(sexagesimal(sign, digits))
	case strings.HasPrefix(digits, "0b"):
		base, digits = 2, digits[2:]
	case strings.HasPrefix(digits, "0x"):
		base, digits = 16, digits[2:]
	case digits != "0" && digits[0] == '0':
		base = 8
	}
	v, err := wholeNumber(sign+digits, base)
	if err != nil {
		return text
	}
	return v
}

func float11(text string) any {
	plain := strings.ReplaceAll(text, "_", "")
	if strings.Contains(plain, ":") {
		sign, digits := "", plain
		if strings.ContainsRune("+-", rune(plain[0])) {
			sign, digits = plain[:1], plain[1:]
		}
		return sexagesimal(sign, digits)
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return text
	}
	return f
}

// sexagesimal returns the value of 1:30:00, which YAML 1.1 reads to the base of 60.
func sexagesimal(sign, digits string) float64 {
	out := 0.0
	for part := range strings.SplitSeq(digits, ":") {
		f, _ := strconv.ParseFloat(part, 64) // digits by plainInt and plainFloat
		out = out*60 + f
	}
	if sign == "-" {
		return -out
	}
	return out
}
