package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// A plot is an SVG chart. Its colours suit light and dark pages.
type plot struct {
	title, x, y string
	series      []series
	labels      []string // of the x axis, for bars; empty: draws lines
	logX        bool
}

type series struct {
	name   string
	points [][2]float64
}

// Sizes in the units of the chart.
const (
	plotWidth, plotHeight = 720, 380
	marginLeft, marginTop = 72, 48
	marginRight           = 24
	marginBottom          = 72
)

var plotColours = []string{"#0b6bcb", "#8a8f98", "#c2410c", "#15803d", "#7e22ce"}

// svg draws the chart.
func (p *plot) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="system-ui, sans-serif" font-size="13">`+"\n",
		plotWidth, plotHeight, html.EscapeString(p.title))
	b.WriteString(`<rect width="100%" height="100%" fill="#ffffff"/>` + "\n")
	p.text(&b, plotWidth/2, 24, "middle", `font-size="16" font-weight="600"`, p.title)
	top, ticks := p.scaleY()
	y := func(v float64) float64 {
		return plotHeight - marginBottom - v/top*(plotHeight-marginBottom-marginTop)
	}
	for _, t := range ticks {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#d8dbe0"/>`+"\n", marginLeft, plotWidth-marginRight, y(t), y(t))
		p.text(&b, marginLeft-8, y(t)+4, "end", "", number(t))
	}
	p.text(&b, 16, marginTop-16, "start", `fill="#5b616a"`, p.y)
	p.text(&b, plotWidth/2, plotHeight-10, "middle", `fill="#5b616a"`, p.x)
	if len(p.labels) > 0 {
		p.bars(&b, y)
	} else {
		p.lines(&b, y)
	}
	p.legend(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

func (p *plot) text(b *strings.Builder, x, y float64, anchor, more, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, more, html.EscapeString(text))
}

// scaleY returns the top of the y axis and its ticks, from 0.
func (p *plot) scaleY() (top float64, ticks []float64) {
	most := 0.0
	for _, s := range p.series {
		for _, point := range s.points {
			most = max(most, point[1])
		}
	}
	if most == 0 {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, part := range []float64{0.1, 0.2, 0.5, 1} {
		if most/(step*part) <= 6 {
			step *= part
			break
		}
	}
	for t := 0.0; ; t += step {
		ticks = append(ticks, t)
		if t >= most {
			return t, ticks
		}
	}
}

func (p *plot) bars(b *strings.Builder, y func(float64) float64) {
	group := float64(plotWidth-marginLeft-marginRight) / float64(len(p.labels))
	width := group * 0.7 / float64(len(p.series))
	for i, label := range p.labels {
		left := marginLeft + group*float64(i) + group*0.15
		for k, s := range p.series {
			v := s.points[i][1]
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left+width*float64(k), y(v), width-2, y(0)-y(v), plotColours[k])
			p.text(b, left+width*(float64(k)+0.5), y(v)-5, "middle", `font-size="11"`, number(v))
		}
		p.text(b, left+group*0.35, plotHeight-marginBottom+18, "middle", "", label)
	}
}

func (p *plot) lines(b *strings.Builder, y func(float64) float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range p.series {
		for _, point := range s.points {
			low, high = min(low, point[0]), max(high, point[0])
		}
	}
	place := func(v float64) float64 {
		if p.logX {
			v, low, high := math.Log(v), math.Log(low), math.Log(high)
			return marginLeft + 16 + (v-low)/(high-low)*(plotWidth-marginLeft-marginRight-32)
		}
		return marginLeft + 16 + (v-low)/(high-low)*(plotWidth-marginLeft-marginRight-32)
	}
	seen := map[float64]bool{}
	for k, s := range p.series {
		var path []string
		for _, point := range s.points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", place(point[0]), y(point[1])))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", place(point[0]), y(point[1]), plotColours[k])
			if !seen[point[0]] {
				seen[point[0]] = true
				p.text(b, place(point[0]), plotHeight-marginBottom+18, "middle", "", number(point[0]))
			}
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(path, " "), plotColours[k])
	}
}

func (p *plot) legend(b *strings.Builder) {
	x := float64(marginLeft)
	for k, s := range p.series {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="12" height="12" fill="%s"/>`+"\n", x, plotHeight-42, plotColours[k])
		p.text(b, x+18, plotHeight-31, "start", "", s.name)
		x += 40 + 7.5*float64(len(s.name))
	}
}

// number formats a figure briefly: 47.7k, 5M, 0.85.
func number(v float64) string {
	switch {
	case v >= 1e6:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v/1e6), ".0") + "M"
	case v >= 1e4:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v/1e3), ".0") + "k"
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	case v > 0 && v < 0.01:
		return fmt.Sprintf("%.1g", v)
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
