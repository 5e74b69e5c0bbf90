"""Chinese characters and words that decide where a name begins, ends, or is none."""

from __future__ import annotations

#: Written before a name and never its first character when no dictionary knows the word.
LEADING = frozenset("由向与和在从对把被给为是有上下等了的将至到及或请让使于以因按即而但时任跟同")
#: Written after a name and never its last character when no dictionary knows the word.
TRAILING = frozenset("为是则称说任在与从时的了及或等由向对将也都就被把给到于")
#: Words between a person and an organisation that make them two names.
BREAKS = frozenset(
    "时任 原任 现任 曾任 历任 任命 兼任 担任 出任 加入 合伙人 董事 董事长 负责人 经理 总经理 "
    "总裁 副总裁 总监 主任 先生 女士 教授 博士 同志 老师 行长 副行长 局长 部长 院长 校长 书记 "
    "创始人 方面 一方".split()
)
TITLES = BREAKS - {"方面", "一方", "加入", "任命"}
SAYS = frozenset(
    "说 称 表示 指出 介绍 认为 加入 坦言 强调 回忆 透露 担任 任 出席 主持 带领 创办".split()
)

COMPOUND_SURNAMES = frozenset(
    "诸葛 司马 司徒 上官 欧阳 夏侯 东方 皇甫 尉迟 公孙 令狐 慕容 端木 独孤 宇文 长孙 澹台 "
    "百里".split()
)
#: Surnames that also begin many ordinary words (安全 高级 明显 文化).
WORDY_SURNAMES = frozenset(
    "安高明严宣荣卓权文惠成古常向白公令祝毛牛龙施卫康和温乐满平宁金华云计习连应时方项水包"
    "车景堵慈燕廉贝桑陶经全宗米丰盛江边童谈柴山谷解都易通广耿党托普崇莫元部默"
)
NO_PERSONS = frozenset(
    "安卓 祝贺 张数 令牌 安康 卓越 关怀 文明 明珠 常青 荣誉 荣耀 荣获 高清 高危 权威 宁静 明星 "
    "明白 白鹭 华为 成渝 卫星 许可 宣贯 科普 蓝图 阿里 默契 陈述 陶冶 毛利 公正 公允 施策 惠民 "
    "廉政 金山 古村 季度初 严督 崇德 安保 托底".split()
)
#: Ordinary words that the tagger's dictionary calls places.
NO_PLACES = frozenset(
    "上市 中断 入口 新建 日志 旧版本 维度 直连 上云 上台 两国 外国 大国 各省市 之日起 云化 云边 "
    "伦理 依法治国 关联 冰川 加密 哥哥 商城 四梁 四海 城市 大街 多维度 广度 广域 扎根 扬帆出海 "
    "惠及 普及 暖阳 桥头堡 法治化 治国 深度 满意度 罗列 美化 蓝海 西瓜 铺展开来 智联 契约化 "
    "落后地区 北路 台头 千镇 百县 山村 乡村 农村 海洋 平原 江湖 各地 当地 本地 异地 外地 全国 "
    "全省 全市 市区 社区 地区 区域 国家 小区 街道 城乡 城镇 县域 市场 国内 国外 国际 海外 境内 "
    "境外 版本 程序 接口 通道 门口 出口".split()
)
NO_ORGANIZATIONS = frozenset(
    "新进展 最大化 大力开展 天文学 光通信 化布局 新格局 国家有关 新兴产业 商业机会 内外部 对外部 "
    "公共信息 中西部 广大干部 本部 全部 内部 外部 局部 大部 公司 集团 组织 上市公司".split()
)

#: Last words of organisations; before one stands its own name.
ORGANIZATION_TAILS = tuple(
    "资本 创投 投资 证券 基金 银行 保险 信托 科技 软件 传媒 电器 汽车 集团 公司 事务所 实验室 "
    "团队 小组 医院 学校 大学 研究院 研究所 交易所".split()
)
