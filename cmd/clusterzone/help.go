package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide the text of --help may be.
const helpWidth = 100

// flagGroups writes a command's flags under the headings of their groups.
func flagGroups(cmd *cobra.Command) string {
	var text strings.Builder
	for _, title := range []string{groupOrigin, groupSources, groupZones, groupServe, groupAnswers, groupOps, groupOutput, groupGeneral} {
		set := pflag.NewFlagSet(title, pflag.ContinueOnError)
		set.SortFlags = false
		cmd.Flags().SortFlags = false
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if groups := f.Annotations[group]; len(groups) == 1 && groups[0] == title {
				set.AddFlag(f)
			}
		})
		if usage := set.FlagUsagesWrapped(helpWidth); usage != "" {
			text.WriteString("\n" + title + ":\n" + usage)
		}
	}
	return text.String()
}
