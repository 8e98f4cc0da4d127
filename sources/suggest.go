package sources

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// suggest ends an error about word: with the nearest of candidates where one is
// near enough for a slip of the fingers, else with all that may be written.
func suggest(word string, candidates, all []string) string {
	if near := nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "write one of " + strings.Join(all, ", ")
}

// nearest returns the candidate with the fewest edits to word, or "" where
// more than a third of the letters, or more than three, would have to change.
func nearest(word string, candidates []string) string {
	if len(word) < 3 || len(word) > 64 { // no slip of the fingers
		return ""
	}
	best, least := "", min(3, (len(word)+2)/3)
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(word), strings.ToLower(c)); d < least || d == least && best == "" {
			best, least = c, d
		}
	}
	return best
}

// Suggest ends an error about a word that should be one of words, for flags
// that are read elsewhere: "did you mean namespace?", or all that may be written.
func Suggest(word string, words []string) string { return suggest(word, words, words) }

// Nearest returns the one of words that word looks like a slip of, or "".
func Nearest(word string, words []string) string { return nearest(word, words) }

// editDistance counts the octets to insert, delete or replace, and the
// neighbours to swap, that make b of a (optimal string alignment).
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// maxQuoted bounds what messages repeat of an object's text, in octets. An
// annotation may hold a quarter of a megabyte.
const maxQuoted = 120

// clip shortens text to what a message can hold.
func clip(text string) string { return clipTo(text, maxQuoted) }

func clipTo(text string, end int) string {
	if len(text) <= end {
		return text
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// quote is clip in quotation marks.
func quote(text string) string { return strconv.Quote(clip(text)) }

// some joins up to three items and counts the rest: "a, b, c and 4 more".
func some(items []string) string {
	if len(items) <= 3 {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:3], ", "), len(items)-3)
}
