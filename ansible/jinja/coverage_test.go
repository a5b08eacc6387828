package jinja_test

import (
	"strings"
	"testing"

	"deployer/ansible/jinja"
	"deployer/engine/lang"
)

// jinjaFilters are the filters that Jinja 3 and ansible-core 2.14 have, and those of
// collections that roles use.
const jinjaFilters = `abs attr b64decode b64encode basename batch bool capitalize center checksum combinations combine comment count
d default dict2items dictsort difference dirname e escape expanduser expandvars extract fileglob filesizeformat first flatten float
forceescape format from_json from_yaml from_yaml_all groupby hash human_readable human_to_bytes indent int intersect ipaddr ipmath
ips_in_ranges ipsubnet ipv4 ipv6 ipwrap items items2dict join json_query last length list log lower mandatory map max md5 min
network_in_network nthhost password_hash path_join permutations pow pprint product quote random realpath regex_escape regex_findall
regex_replace regex_search reject rejectattr rekey_on_member relpath replace reverse root round safe select selectattr sha1 shuffle
slice sort split splitext strftime string striptags subelements sum symmetric_difference ternary title to_datetime to_json
to_nice_json to_nice_yaml to_uuid to_yaml tojson trim truncate type_debug unicode_normalize union unique unvault upper urldecode
urlencode urlize urlsplit vault version_sort win_basename win_dirname win_splitdrive wordcount wordwrap xmlattr zip zip_longest`

// TestEveryFilter: a filter is translated to an expression and a template that compile, or
// has a problem. An argument that no filter has is always a problem.
func TestEveryFilter(t *testing.T) {
	origin := lang.Origin{}
	translated := 0
	for _, filter := range strings.Fields(jinjaFilters) {
		for _, arguments := range []string{"", "('a')", "('a', 'b')"} {
			src := "x | " + filter + arguments
			out, err := jinja.Expression(src)
			if err != nil {
				continue
			}
			translated++
			if _, err := lang.CompileExpr(out, origin); err != nil {
				t.Errorf("%s gives %s: %v", src, out, err)
			}
			text, problems := jinja.Text("{{ "+src+" }}", lang.NeedsDot)
			if untranslated(problems) {
				continue
			}
			if _, err := render(text, map[string]any{"x": "a"}); err != nil && strings.Contains(err.Error(), "not defined") {
				t.Errorf("%s gives %s: %v", src, text, err)
			}
		}
		if out, err := jinja.Expression("x | " + filter + "(no_such_argument=1)"); err == nil {
			t.Errorf("%s(no_such_argument=1) gives %s", filter, out)
		}
	}
	if translated < 100 {
		t.Errorf("only %d forms are translated", translated)
	}
	if out, err := jinja.Expression("x | no_such_filter"); err == nil {
		t.Errorf("no_such_filter gives %s", out)
	}
}

// jinjaTests are the tests that Jinja 3 and ansible-core 2.14 have.
const jinjaTests = `abs all any boolean callable change changed contains defined directory divisibleby eq equalto escaped even exists
failed failure falsy false file filter finished float ge greaterthan gt in integer is_abs issubset issuperset iterable le lessthan link
link_exists lower lt mapping match mount nan ne none number odd reachable regex same_file sameas search sequence skip skipped started
string subset succeeded success successful superset test true truthy undefined unreachable upper uri url urn vault_encrypted version
version_compare`

// TestEveryTest is TestEveryFilter for tests.
func TestEveryTest(t *testing.T) {
	for _, name := range strings.Fields(jinjaTests) {
		for _, arguments := range []string{"", "('a')", "('a', 'b', 'c', 'd')", "(no_such_argument=1)"} {
			src := "x is " + name + arguments
			out, err := jinja.Condition(src)
			if err != nil {
				continue
			}
			if strings.Contains(arguments, "no_such") {
				t.Errorf("%s gives %s", src, out)
			}
			if _, err := lang.CompileExpr(out, lang.Origin{}); err != nil {
				t.Errorf("%s gives %s: %v", src, out, err)
			}
		}
	}
}

// TestEveryMethod: a method of Python's has a translation that compiles, or is a problem.
func TestEveryMethod(t *testing.T) {
	for _, method := range strings.Fields(`append capitalize casefold center copy count endswith expandtabs extend find format get index
insert isalnum isalpha isdigit islower isspace isupper items iteritems join keys ljust lower lstrip partition pop remove replace rfind
rindex rjust rsplit rstrip setdefault sort split splitlines startswith strip swapcase title translate update upper values zfill`) {
		for _, arguments := range []string{"()", "('a')", "('a', 'b')", "('a', 'b', 1, 2)", "(no_such_argument=1)"} {
			src := "x." + method + arguments
			out, err := jinja.Expression(src)
			if err != nil {
				continue
			}
			if strings.Contains(arguments, "no_such") {
				t.Errorf("%s gives %s", src, out)
			}
			if _, err := lang.CompileExpr(out, lang.Origin{}); err != nil {
				t.Errorf("%s gives %s: %v", src, out, err)
			}
		}
	}
}
