#include "cli/commands.h"
#include "cli/picture.h"

namespace cohort::cli {

int show(const Common& common, const std::string& format) {
  if (common.json && format == "svg") {
    throw Stop{
        kUsage,
        {{"E-USAGE", "", "--format svg and --json: wanted one of them, got both", "one", "both"}}};
  }
  const Graph graph = read_graph(common);
  const bool as_json = common.json || format == "json";
  print(as_json           ? std::string(graph.json())
        : format == "svg" ? picture_svg(make_picture(graph))
                          : picture_text(make_picture(graph)));
  return kOk;
}

}  // namespace cohort::cli
