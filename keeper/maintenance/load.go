package maintenance

import (
	"deployer/keeper/maintenance/profile"
)

// Load reads a file of profiles and checks all of it. The error has all mistakes with file, line and column. env
// returns variables for ${NAME}; os.LookupEnv in general. doer carries out the triggers that need a host; nil for none,
// so that such triggers are mistakes.
func Load(data []byte, source string, env func(string) (string, bool), doer Doer) (*profile.Config, error) {
	o := profile.Options{Env: env}
	if doer != nil {
		o.Triggers = doer.Types()
	}
	return profile.Load(data, source, o)
}
