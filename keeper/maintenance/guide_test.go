package maintenance

import (
	"os"
	"regexp"
	"testing"

	"deployer/keeper/maintenance/replace"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestGuide loads the files of the guide.
func TestGuide(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/maintenance-profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllSubmatch(page, -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks, want the settings, a file of profiles and one of replacements", len(blocks))
	}
	env := func(name string) (string, bool) { return "https://hooks.example.com/x", name == "SLACK_HOOK" }
	if _, err := Load(blocks[1][1], "guide", env, nil); err != nil {
		t.Error(err)
	}
	if c, err := replace.Load(blocks[2][1], "guide", env); err != nil || c.Replace == nil {
		t.Errorf("%+v, %v", c, err)
	}
}
