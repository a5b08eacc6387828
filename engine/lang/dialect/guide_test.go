package dialect

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGuideListsFiltersAndTests: the guide names every filter and every test, and no other.
func TestGuideListsFiltersAndTests(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guides/from-ansible.md")
	if err != nil {
		t.Fatal(err)
	}
	filters := slices.Concat(slices.Collect(maps.Keys(filters())), []string{"abs", "reverse"})
	tests := slices.Concat(slices.Collect(maps.Keys(testArguments)), slices.Collect(maps.Keys(resultTests)), []string{"undefined"})
	for _, list := range []struct {
		begin, end string
		want       []string
	}{
		{"The filters: ", " `lookup` knows", filters},
		{"They are: ", " Tests of files", tests},
	} {
		_, rest, _ := strings.Cut(string(page), list.begin)
		text, _, found := strings.Cut(rest, list.end)
		if !found {
			t.Fatalf("the guide has no list that begins with %q", list.begin)
		}
		var got []string
		for _, m := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(text, -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		slices.Sort(list.want)
		if diff := cmp.Diff(list.want, got); diff != "" {
			t.Errorf("%s(-code +guide)\n%s", list.begin, diff)
		}
	}
}
